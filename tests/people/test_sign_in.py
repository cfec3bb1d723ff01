"""Signing in by a link that works once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from people.models import SignInLink
from tests.factories import make_person
from tests.signed_in import text


@pytest.fixture
def token(db: None) -> str:
    return SignInLink.issue(make_person())


def test_opening_the_link_shows_one_button_and_uses_nothing_up(client: Client, token: str) -> None:
    page = text(client.get(f"/sign-in/{token}/"))
    assert page.count('type="submit"') == 1
    assert SignInLink.objects.get().used_at is None


def test_the_button_signs_in_and_the_link_is_used_up(client: Client, token: str) -> None:
    assert client.post(f"/sign-in/{token}/")["Location"] == "/"
    assert client.get("/").status_code == 200
    second = Client().post(f"/sign-in/{token}/")
    assert second.status_code == 403
    assert "no longer opens anything" in text(second)


def test_a_pasted_link_signs_in(client: Client, token: str) -> None:
    answer = client.post("/sign-in/", {"token": f" http://127.0.0.1:8000/sign-in/{token}/ "})
    assert answer["Location"] == "/"


def test_without_a_link_the_page_says_how_to_get_one(client: Client, db: None) -> None:
    page = text(client.get("/sign-in/"))
    assert "manage.py signin_link" in page
    assert "Campaigns" not in page


def test_an_old_link_opens_nothing(client: Client, token: str) -> None:
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert client.post(f"/sign-in/{token}/").status_code == 403


def test_signing_out_ends_it(client: Client, token: str) -> None:
    client.post(f"/sign-in/{token}/")
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/").status_code == 302
