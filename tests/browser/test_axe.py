"""axe-core finds no violation on the pages that people read most, in both themes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Opener, Places
from tests.browser.test_shared import share

VENDOR = Path(__file__).parent / "vendor"
AXE = VENDOR / "axe.min.js"
# WCAG 2.2 A and AA, and what axe's authors hold for good practice
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Handles of neighbouring windows may stand closer than 24 px; the form beneath them does the same,
# which is the exception that WCAG 2.5.8 names "equivalent".
BESIDE_A_FORM = ("target-size", True)


def violations(page: Page) -> list[str]:
    """One line for each rule and place."""
    page.evaluate(AXE.read_text())  # by the debugger: the page's own policy lets no script in
    found: dict[str, Any] = page.evaluate(
        "tags => axe.run(document, { runOnly: { type: 'tag', values: tags } })", TAGS
    )
    return [
        f"{rule['id']}: {' '.join(node['target'])} {node['html'][:120]}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if (rule["id"], "data-handle" in node["html"]) != BESIDE_A_FORM
    ]


def test_axe_is_the_file_that_was_reviewed() -> None:
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert sha256((VENDOR / name).read_bytes()).hexdigest() == digest


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(opened: Opener, places: Places, scheme: str) -> None:
    many = opened(f"{places.compare}~{places.third}", color_scheme=scheme)
    found = {"three arms": violations(many)}
    many.locator("#fold-levels-c").click()
    many.locator("details.folded table").wait_for()
    found["three arms, unfolded"] = violations(many)
    compare = opened(places.compare + "&open=16", color_scheme=scheme)
    compare.locator(".js-plotly-plot").first.wait_for()
    compare.locator(".uplot").wait_for()
    found["compare"] = violations(compare)
    address = share(compare)
    found["share dialog"] = violations(compare)
    compare.keyboard.press("Escape")
    compare.keyboard.press("?")
    found["keys dialog"] = violations(compare)
    shared = opened(address, signed_in=False, color_scheme=scheme)
    shared.locator(".js-plotly-plot").first.wait_for()
    found["shared"] = violations(shared)
    for name, path in (("run", places.run), ("campaign", places.campaign)):
        page = opened(path, color_scheme=scheme)
        page.wait_for_load_state("networkidle")
        found[name] = violations(page)
    assert {name: told for name, told in found.items() if told} == {}
