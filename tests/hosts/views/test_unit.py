"""What an administrator installs for a unit, on the host's page and by the command."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from hosts.launchers.setup import unit_setup
from hosts.models import Host
from hosts.transport.errors import Unreachable
from tests.factories import make_host
from tests.hosts.launchers.test_kept import GOOD
from tests.signed_in import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The node answers that the drop-in is missing; what it was asked."""
    heard: list[dict[str, Any]] = []

    def answer(*, host: Host, unit: str, restart_only: bool) -> Any:
        heard.append({"host": host.name, "unit": unit, "restart_only": restart_only})
        told = GOOD | {"unit": unit, "reads_our_command": False}
        return unit_setup(told, restart_only=restart_only)

    monkeypatch.setattr("hosts.views.ask_unit", answer)
    monkeypatch.setattr("hosts.management.commands.unit_setup.ask_unit", answer)
    return heard


def test_the_page_shows_every_file_and_what_is_in_the_way(
    member: Client, asked: list[dict[str, Any]]
) -> None:
    make_host("llm-two")
    page = text(member.get("/hosts/llm-two/"))
    assert "See how it is set up" in page
    page = text(member.post("/hosts/llm-two/unit/", {"unit": "llm.service"}))
    assert asked == [{"host": "llm-two", "unit": "llm.service", "restart_only": False}]
    for words in ("/etc/sudoers.d/throughline-llm-service", "ExecStart=", "does not start the"):
        assert words in page


def test_a_bad_unit_asks_nobody(member: Client, asked: list[dict[str, Any]]) -> None:
    make_host("llm-two")
    answer = member.post("/hosts/llm-two/unit/", {"unit": "; reboot"})
    assert answer.status_code == 422
    assert "whole name of a service" in text(answer)
    assert asked == []


def test_a_host_that_does_not_answer_says_so(
    member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(**_: Any) -> Any:
        raise Unreachable("Nobody answers at this address.")

    monkeypatch.setattr("hosts.views.ask_unit", silent)
    make_host("llm-two")
    answer = member.post("/hosts/llm-two/unit/", {"unit": "llm.service"})
    assert answer.status_code == 502
    assert "Nobody answers" in text(answer)


def test_the_command_prints_what_can_be_pasted(asked: list[dict[str, Any]]) -> None:
    make_host("llm-two")
    out, notes = StringIO(), StringIO()
    call_command("unit_setup", "llm-two", "llm.service", stdout=out, stderr=notes)
    assert "systemctl daemon-reload" in out.getvalue()
    assert "wrapper" in notes.getvalue()
    for words in (("nowhere", "llm.service"), ("llm-two", "llm")):
        with pytest.raises(CommandError):
            call_command("unit_setup", *words)
