"""The form of a new host, filled from a pasted ~/.ssh/config."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from django.test import Client

from hosts.models import Host
from tests.factories import make_host
from tests.hosts.views.test_hosts import key_file, typed
from tests.signed_in import text

__all__ = ["key_file"]

URL = "/hosts/add/ssh-config/"
ENTRY = """
Host llm-two
    HostName 10.0.0.7
    Port 2222
    User bench
    IdentityFile /keys/bench
    ProxyCommand touch /tmp/was-run
"""


def test_values_come_into_the_fields_and_the_rest_is_named(member: Client, db: None) -> None:
    page = text(member.post(URL, {"config": ENTRY, "labels": "typed-before"}))
    for value in ("llm-two", "10.0.0.7", "2222", "bench", "/keys/bench", "typed-before"):
        assert f'value="{value}"' in page
    assert "<code>ProxyCommand</code>" in page
    assert "It would run a program" in page
    assert "touch /tmp/was-run" in page, "the pasted text stays"
    assert not Host.objects.exists()
    assert not Path("/tmp/was-run").exists()


def test_what_was_typed_stays_where_the_entry_says_nothing(member: Client, db: None) -> None:
    told = {"config": "Host x\n  User ops\n", "port": "2200", "agent_path": "/run/agent"}
    page = text(member.post(URL, told))
    assert 'value="2200"' in page
    assert 'value="/run/agent"' in page
    assert 'value="ops"' in page


def test_of_several_hosts_one_is_chosen(member: Client, db: None) -> None:
    config = "Host a\n  Port 1\nHost b\n  Port 2\nHost *\n  User ops\n"
    page = text(member.post(URL, {"config": config, "user": "typed"}))
    assert "Which of these?" in page
    assert 'name="alias" value="a"' in page
    assert 'value="typed"' in page
    page = text(member.post(URL, {"config": config, "alias": "b", "user": "typed"}))
    assert 'name="port" value="2"' in page
    assert 'value="ops"' in page
    assert "Another one of it:" in page


def test_a_jump_is_one_of_our_hosts_or_is_asked_for(member: Client, db: None) -> None:
    config = "Host inner\n  ProxyJump ops@10.0.0.1\n"
    page = text(member.post(URL, {"config": config}))
    assert "No host here has the name or address 10.0.0.1." in page
    gate = make_host("gate", address="10.0.0.1")
    page = text(member.post(URL, {"config": config}))
    assert f'<option value="{gate.pk}" selected>gate</option>' in page
    assert "No host here" not in page


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ("", "Host NAME"),
        ("Host a\x00", "control characters"),
        ("Host a\n" + "x" * 10_000_000, "longer than 64 KiB"),
    ],
    ids=["empty", "NUL", "10 MB"],
)
def test_a_hostile_text_gets_a_message_and_costs_nothing_typed(
    member: Client, db: None, config: str, reason: str
) -> None:
    answer = member.post(URL, {"config": config, "address": "10.0.0.7"})
    assert answer.status_code == 422
    page = text(answer)
    assert reason in page
    assert 'value="10.0.0.7"' in page
    assert len(page) < 200_000


def test_a_hostile_value_is_shown_as_text_and_refused_on_saving(
    member: Client, db: None, key_file: Path
) -> None:
    address = '"><script>alert(1)</script>'
    config = f"Host evil\n  HostName '{address}'\n"
    page = text(member.post(URL, {"config": config}))
    assert html.escape(address) in page
    assert "<script>alert" not in page
    answer = member.post("/hosts/add/", typed(key_file, address=address, config=config))
    assert answer.status_code == 422
    assert html.escape(config.strip()) in text(answer)


def test_an_address_that_no_node_has_is_refused_on_saving_as_if_typed(
    member: Client, db: None, key_file: Path
) -> None:
    page = text(member.post(URL, {"config": "Host meta\n  HostName 169.254.169.254\n"}))
    assert 'value="169.254.169.254"' in page
    answer = member.post("/hosts/add/", typed(key_file, address="169.254.169.254"))
    assert "link-local" in text(answer)


def test_a_stranger_reads_nothing_in(stranger: Client) -> None:
    assert stranger.post(URL, {"config": ENTRY})["Location"].startswith("/sign-in/")
