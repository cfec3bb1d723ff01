"""A share link, from its making to its end."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener, Places

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def share(page: Page) -> str:
    page.get_by_role("link", name="Share", exact=True).click()
    page.get_by_role("button", name="Make a share link").click()
    return page.locator("#share-address").input_value()


def test_a_link_opens_signed_out_until_it_is_revoked(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    address = share(page)
    theirs = opened(address, signed_in=False)
    expect(theirs.locator(".verdict").first).to_contain_text("steps=2 gives")
    expect(theirs.locator(".js-plotly-plot").first).to_be_visible()
    assert theirs.context.cookies() == []
    assert "llm-two" not in theirs.content()
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator(".links td", has_text="revoked")).to_be_visible()
    answer = theirs.reload()
    assert answer is not None and answer.status == 410
    expect(theirs.locator(".verdict")).to_have_count(0)
