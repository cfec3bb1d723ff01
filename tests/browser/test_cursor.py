"""The charts of a comparison share one cursor: the level."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opener, Places

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_level_under_the_cursor_is_marked_in_every_chart(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    output = page.locator("[data-figure=output] .js-plotly-plot")
    output.scroll_into_view_if_needed()
    third = output.locator(".scatterlayer .trace").last.locator(".point").nth(2)
    third.hover(force=True)
    for figure in ("accept", "steps", "delta", "pareto"):
        marked = page.locator(f"[data-figure={figure}] .hoverlayer .hovertext")
        expect(marked.first).to_contain_text("16")
    page.mouse.move(2, 2)
    expect(page.locator(".hoverlayer .hovertext")).to_have_count(0)
