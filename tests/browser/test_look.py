"""Dark mode, 200 % zoom and a phone: nothing is lost, nothing scrolls sideways."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from runs.models import Arm, Campaign
from tests.browser.conftest import Opener, Places
from tests.browser.test_shared import share
from tests.look.test_tokens import DARK, LIGHT

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# pixels that stick out of the page at the right, and what does
STICKS_OUT = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > wide + 1 && each.getClientRects().length)
    .map((each) => `${each.tagName} ${each.className}`).slice(0, 5)
    .concat(`${document.documentElement.scrollWidth - wide} px`);
}"""


def background(page: Page) -> str:
    told = page.evaluate("getComputedStyle(document.body).backgroundColor")
    parts = [int(part) for part in told.removeprefix("rgb(").removesuffix(")").split(",")]
    return "#" + "".join(f"{part:02X}" for part in parts)


def test_dark_is_the_systems_choice_until_it_is_a_persons(opened: Opener, places: Places) -> None:
    page = opened(places.compare, color_scheme="dark")
    assert background(page) == DARK["page"]
    page.locator(".js-plotly-plot").first.wait_for()
    axis = page.locator(".js-plotly-plot .xtick text").first
    grey = "getComputedStyle(document.documentElement).getPropertyValue('--ink-3').trim()"
    hex_of = DARK["ink-3"].lstrip("#")
    rgb = ", ".join(str(int(hex_of[i : i + 2], 16)) for i in (0, 2, 4))
    assert page.evaluate(grey) == DARK["ink-3"]
    expect(axis).to_have_css("fill", f"rgb({rgb})")
    page.locator("[data-theme-switch]").click()
    assert background(page) == LIGHT["page"]
    page.reload()
    assert background(page) == LIGHT["page"]


@pytest.mark.parametrize(
    "options",
    [
        # what a window of 1280 px shows at 200 %
        {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},
        {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 3},
    ],
    ids=["200 %", "phone"],
)
def test_nothing_scrolls_sideways_and_nothing_is_lost(
    opened: Opener, places: Places, options: dict[str, object]
) -> None:
    shared = share(opened(places.compare))
    for path in (places.compare + "&open=16", shared, places.run, places.campaign):
        wide = opened(path)
        narrow = opened(path, **options)
        if "compare" in path or path == shared:
            narrow.locator(".js-plotly-plot").first.wait_for()
            narrow.locator(".uplot, .says").first.wait_for() if path != shared else None
        assert narrow.evaluate(STICKS_OUT) == [], path
        headings = "all => all.filter(h => h.checkVisibility()).map(h => h.textContent.trim())"
        wanted = wide.eval_on_selector_all("h1, h2, h3", headings)
        assert narrow.eval_on_selector_all("h1, h2, h3", headings) == wanted, path
        buttons = "all => all.filter(b => b.checkVisibility()).map(b => b.textContent.trim())"
        wanted = wide.eval_on_selector_all("main button, main .btn", buttons)
        assert narrow.eval_on_selector_all("main button, main .btn", buttons) == wanted, path


def test_every_level_keeps_its_figures_on_a_phone(opened: Opener, places: Places) -> None:
    page = opened(places.compare, viewport={"width": 390, "height": 844})
    for row in page.locator("[data-row]").all():
        visible = row.locator("td:visible")
        assert visible.count() >= 4  # both figures, the change and the sign of the verdict
    page.locator("#open-4").click()
    expect(page.locator(".repeats tbody tr")).to_have_count(12)
    assert page.evaluate(STICKS_OUT) == []


@pytest.fixture
def longest(places: Places) -> Places:
    """The same with names and a question as long as they may be, without a blank."""
    for arm in Arm.objects.all():
        Arm.objects.filter(pk=arm.pk).update(name=f"{arm.pk:06}{'W' * 114}")
    Campaign.objects.update(question="Q" * 300)
    return places


def test_the_longest_names_push_nothing_out_of_a_phone(longest: Places, opened: Opener) -> None:
    first, second = longest.arms
    paths = [longest.campaign, longest.run, f"/compare/?arms={first}", f"/arms/{first}/rerun/"]
    for path in [*paths, f"/compare/missing/?arms={first}~{second}"]:
        page = opened(path, viewport={"width": 390, "height": 844})
        page.wait_for_load_state("networkidle")
        assert page.evaluate(STICKS_OUT) == [], path
