"""What people, programs and workers get while the database is away."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from webapp import database, settings


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Client:
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", refuse)
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "a" * 32
    return client


@pytest.mark.django_db
def test_a_page_that_was_asked_for_comes_again_by_itself(away: Client) -> None:
    answer = away.get("/runs/")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    page = answer.content.decode()
    assert '<meta http-equiv="refresh" content="5">' in page
    assert "nothing that was measured is lost" in page


@pytest.mark.django_db
def test_a_form_that_was_sent_is_not_sent_again_by_itself(away: Client) -> None:
    answer = away.post("/campaigns/new/", {"question": "Does it pay?"})
    assert answer.status_code == 503
    assert "http-equiv" not in answer.content.decode()
    assert "What you sent was not kept" in answer.content.decode()


@pytest.mark.django_db
def test_a_program_is_told_in_json(away: Client) -> None:
    answer = away.get("/api/v1/runs/1")
    assert answer.status_code == 503
    assert "Ask again" in answer.json()["detail"]


@pytest.mark.django_db
def test_any_other_fault_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr("people.views.render", wrong)
    answer = Client(raise_request_exception=False).get("/sign-in/")
    assert answer.status_code == 500


def test_what_cannot_be_written_at_first_is_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "PAUSE_S", 0.0)
    said: list[Exception] = [OperationalError("shutting down"), InterfaceError("closed")]

    def write() -> str:
        if said:
            raise said.pop()
        return "written"

    assert database.persist(write, 5.0) == "written"


def test_after_its_time_the_last_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PAUSE_S", 0.0)

    def write() -> None:
        raise OperationalError("shutting down")

    with pytest.raises(OperationalError):
        database.persist(write, 0.05)


def test_a_fault_of_the_caller_is_not_tried_again() -> None:
    tries: list[int] = []

    def write() -> None:
        tries.append(1)
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        database.persist(write, 5.0)
    assert tries == [1]


def test_f24_the_limits_stand_before_what_the_address_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://u@h/n?options=-c%20lock_timeout%3D9s")
    told: dict[str, Any] = settings._database()
    assert told["OPTIONS"]["options"] == (
        "-c lock_timeout=5s -c idle_in_transaction_session_timeout=60s -c lock_timeout=9s"
    )
