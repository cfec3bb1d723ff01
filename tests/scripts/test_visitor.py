"""The visitor of `make demo-verdicts` on the real pages."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from scripts.visitor import NotThere, Visitor
from tests.factories import make_campaign


@pytest.fixture
def visitor(live_server: LiveServer, capsys: pytest.CaptureFixture[str]) -> Visitor:
    """At the door, with a link that opens it."""
    call_command("signin_link", base=live_server.url)
    here = Visitor(live_server.url)
    here.open(capsys.readouterr().out.strip())
    return here


def test_it_signs_in_with_the_button_and_follows_links(visitor: Visitor) -> None:
    campaign = make_campaign("Does a second draft step pay?")
    visitor.press("Sign in")
    visitor.open("/campaigns/")
    visitor.follow(f"/campaigns/{campaign.pk}/")
    assert visitor.address.endswith(campaign.get_absolute_url())
    assert "Does a second draft step pay?" in visitor.text


def test_it_says_what_is_not_there(visitor: Visitor) -> None:
    with pytest.raises(NotThere, match="no button “Queue”"):
        visitor.press("Queue")
    with pytest.raises(NotThere, match="no link"):
        visitor.follow("slug=greedy-sampling")
    with pytest.raises(NotThere, match="answered 404"):
        visitor.open("/no-such-page/")
