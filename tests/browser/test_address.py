"""What is shown stands in the address: loading it again gives the same page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener, Places

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def shown(page: Page) -> dict[str, object]:
    """What a person sees of the state: words of the table, what is chosen, what is large."""
    page.locator(".js-plotly-plot").first.wait_for()
    return {
        "table": page.locator("#levels").inner_text(),
        "rows": page.eval_on_selector_all("[data-row]", "all => all.map(r => r.dataset.row)"),
        "metric": page.locator(".metrics [aria-current]").inner_text(),
        "large": page.locator("figure.is-zoomed").get_attribute("data-figure"),
        "level": page.locator("#level-series").input_value(),
        "filter": page.locator("#filter").input_value(),
    }


def test_every_control_writes_the_address_and_a_reload_shows_the_same(
    opened: Opener, places: Places
) -> None:
    page = opened(places.compare + "&theirs=1")
    page.locator("#metric-ttft_p50").click()
    expect(page.locator("#metric-ttft_p50")).to_have_attribute("aria-current", "true")
    page.locator("#sort-levels").click()
    expect(page.locator("#sort-levels")).to_have_text("Sort by concurrency")
    page.locator("#filter").fill("better")
    page.locator("#filter").press("Enter")
    expect(page).to_have_url(re.compile("filter=better"))
    page.locator("#filter").fill("")
    page.locator("#filter").press("Enter")
    expect(page).not_to_have_url(re.compile("filter="))
    page.locator("#open-16").click()
    expect(page.locator(".level-open")).to_be_visible()
    page.locator("[data-zoom=pareto]").click()
    page.locator("#level-series").select_option("4")
    expect(page).to_have_url(re.compile("level=4"))
    for told in ("theirs=1", "metric=ttft_p50", "sort=factor", "open=16", "zoom=pareto"):
        expect(page).to_have_url(re.compile(told))
    before, address = shown(page), page.url
    assert before["large"] == "pareto" and before["level"] == "4"
    page.reload()
    assert shown(page) == before
    assert page.url == address


def test_the_back_button_leaves_the_page(opened: Opener, places: Places) -> None:
    page = opened(places.campaign)
    page.goto(page.url.split("/campaigns/")[0] + places.compare)
    page.locator("#metric-tpot_p50").click()
    expect(page).to_have_url(re.compile("metric=tpot_p50"))
    page.go_back()
    expect(page).to_have_url(re.compile("/campaigns/"))


def test_without_scripts_the_address_works_as_well(opened: Opener, places: Places) -> None:
    page = opened(places.compare + "&metric=tpot_p50&open=4", java_script_enabled=False)
    expect(page.locator(".level-open")).to_be_visible()
    page.locator("#open-16").click()
    expect(page).to_have_url(re.compile("open=16"))
    expect(page.locator("tr.is-open [aria-expanded=true]")).to_have_text("16")
    expect(page.locator(".metrics [aria-current]")).to_have_text("TPOT")


def test_a_value_that_nobody_knows_is_named(opened: Opener, places: Places) -> None:
    page = opened(places.compare + "&metric=speed")
    notice = page.get_by_role("status").filter(has_text="metric=speed")
    expect(notice).to_be_visible()
    notice.get_by_role("link").click()
    expect(notice).to_have_count(0)


def three(places: Places) -> str:
    """The address of the two arms and of the third, which is beside them."""
    return f"{places.compare}~{places.third}"


def test_a_fold_fetches_its_tables_once_and_keeps_the_focus(opened: Opener, places: Places) -> None:
    page = opened(three(places))
    fold = page.locator("#fold-levels-c")
    expect(page.locator("#levels table.levels")).to_have_count(1)
    fold.focus()
    fold.press("Enter")
    expect(page.locator("#levels details.folded table.levels")).to_be_visible()
    expect(page.locator("#levels table.levels")).to_have_count(2)
    expect(fold).to_be_focused()
    expect(page).to_have_url(re.compile(re.escape(three(places)) + "$"))
    fold.press("Enter")
    expect(page.locator("#levels details.folded table.levels")).to_be_hidden()


def test_without_scripts_a_fold_leads_to_its_arm(opened: Opener, places: Places) -> None:
    page = opened(three(places), java_script_enabled=False)
    page.locator("#fold-levels-c").click()
    expect(page).to_have_url(re.compile("arm=C#levels"))
    expect(page.locator("#levels h2")).to_contain_text("steps=3")
    expect(page.locator("#fold-levels-b")).to_be_visible()


def test_an_arm_is_dragged_to_another_place(opened: Opener, places: Places) -> None:
    page = opened(places.compare + "&metric=ttft_p50")
    names = page.locator(".arms .arm b")
    before = names.all_inner_texts()
    page.drag_and_drop(".arms .arm:nth-child(2) [draggable]", ".arms .arm:nth-child(1)")
    expect(names).to_have_text(before[::-1])
    expect(page.locator(".arm:nth-child(1) .badge")).to_have_text("baseline")
    expect(page).to_have_url(re.compile("metric=ttft_p50"))
