"""The tokens hold what they promise: one set of names, readable text, equal dark blocks."""

from __future__ import annotations

import re

import pytest

from tests.repository.places import ROOT

CSS = ROOT / "static" / "css"
TOKENS = (CSS / "tokens.css").read_text()
COLOUR = re.compile(r"--([a-z0-9-]+):(#[0-9A-Fa-f]{6})")


def block(start: str) -> dict[str, str]:
    text = TOKENS[TOKENS.index(start) :]
    return dict(COLOUR.findall(text[: text.index("}")]))


LIGHT = block(":root{\n")
DARK = block(":root[data-bs-theme=dark]{")
TEXT = (
    ["ink", "ink-2", "ink-3", "accent", "better", "worse", "same", "warn", "fail"]
    + [f"arm-{letter}" for letter in "abcdef"]
)  # fmt: skip
ON_TINT = [
    ("better", "better-tint"), ("worse", "worse-tint"), ("warn", "warn-tint"),
    ("fail", "fail-tint"), ("accent", "accent-tint"), ("same", "same-tint"),
    ("arm-b", "arm-b-tint"), ("ink-2", "fail-tint"), ("ink-3", "better-tint"),
    ("btn-ink", "btn"),
]  # fmt: skip


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("surface", ["page", "surface", "sunken"])
@pytest.mark.parametrize("name", TEXT)
def test_text_is_readable_on_every_surface(name: str, surface: str, theme: dict[str, str]) -> None:
    assert contrast(theme[name], theme[surface]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("name", "tint"), ON_TINT)
def test_text_is_readable_on_its_tint(name: str, tint: str, theme: dict[str, str]) -> None:
    assert contrast(theme[name], theme[tint]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_edge_of_a_field_can_be_seen(theme: dict[str, str]) -> None:
    assert contrast(theme["field"], theme["surface"]) >= 3


def test_both_dark_blocks_are_the_same() -> None:
    assert block(":root:not([data-bs-theme=light]){") == DARK


def test_dark_changes_every_colour_that_light_has() -> None:
    assert set(DARK) == set(LIGHT)


def test_no_other_stylesheet_holds_a_raw_colour() -> None:
    raw = re.compile(r"#[0-9A-Fa-f]{3,8}\b|\b(?:rgb|hsl)a?\((?!from var|0 0 0)")
    found = {
        path.name: sorted(set(raw.findall(re.sub(r"#[a-z-]+\{", "{", path.read_text()))))
        for path in CSS.glob("*.css")
        if path.name != "tokens.css"
    }
    assert {name: colours for name, colours in found.items() if colours} == {}


def test_every_variable_that_is_used_is_a_token() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    defined = set(re.findall(r"--([a-z0-9-]+):", TOKENS + pages))
    for path in CSS.glob("*.css"):
        text = path.read_text()
        own = set(re.findall(r"--([a-z0-9-]+):", text))
        used = set(re.findall(r"var\(--([a-z0-9-]+)\)", text))
        assert used - defined - own == set(), path.name
