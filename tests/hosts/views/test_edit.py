"""A host is changed: what needs its key anew, what waits for a run, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from hosts.models import Host, HostEvent, HostKey, HostLease
from tests.factories import FINGERPRINT, make_host
from tests.hosts.views.test_hosts import key_file
from tests.signed_in import text

__all__ = ["key_file"]


@pytest.fixture
def host(db: None, key_file: Path) -> Host:
    return make_host("llm-two", address="10.0.0.7", key_path=str(key_file), labels=["tp4"])


def typed(host: Host, **changed: str) -> dict[str, str]:
    told = {
        "address": host.address,
        "port": str(host.port),
        "jump": "",
        "user": host.user,
        "key_path": host.key_path,
        "agent_path": "",
        "agent_key": "",
        "labels": "tp4",
    }
    return {**told, **changed}


def test_the_form_shows_what_is_kept(member: Client, host: Host) -> None:
    page = text(member.get("/hosts/llm-two/edit/"))
    for value in ("10.0.0.7", "bench", host.key_path, "tp4"):
        assert f'value="{value}"' in page
    assert 'name="name"' not in page
    assert 'href="/hosts/llm-two/edit/"' in text(member.get("/hosts/llm-two/"))


def test_nothing_changed_is_no_event(member: Client, host: Host) -> None:
    assert member.post("/hosts/llm-two/edit/", typed(host))["Location"] == "/hosts/llm-two/"
    assert not HostEvent.objects.exists()
    assert HostKey.objects.exists()


def test_another_user_or_label_keeps_the_key(member: Client, host: Host) -> None:
    answer = member.post("/hosts/llm-two/edit/", typed(host, user="ops", labels="tp4, h100"))
    assert answer["Location"] == "/hosts/llm-two/"
    kept = Host.objects.get()
    assert (kept.user, kept.labels, kept.keys.count()) == ("ops", ["tp4", "h100"], 1)
    event = HostEvent.objects.get()
    assert event.text == "user: bench → ops; labels: tp4 → tp4, h100"
    assert (event.kind, str(event.by)) == ("edited", "operator")
    assert "user: bench → ops" in text(member.get("/hosts/llm-two/"))


@pytest.mark.parametrize(("field", "value"), [("address", "10.0.0.8"), ("port", "2222")])
def test_s14_another_place_has_its_key_compared_anew(
    member: Client, host: Host, field: str, value: str
) -> None:
    answer = member.post("/hosts/llm-two/edit/", typed(host, **{field: value}))
    assert answer["Location"] == "/hosts/llm-two/key/"
    assert not HostKey.objects.exists()
    event = HostEvent.objects.get()
    assert f"→ {value}" in event.text
    assert FINGERPRINT in event.text
    assert not Host.objects.get().can_connect


def test_another_jump_keeps_the_key_and_a_ring_is_refused(member: Client, host: Host) -> None:
    gate = make_host("gate", address="10.0.0.1", key_path=host.key_path)
    member.post("/hosts/llm-two/edit/", typed(host, jump=str(gate.pk)))
    assert Host.objects.get(name="llm-two").jump == gate
    assert Host.objects.get(name="llm-two").can_connect
    answer = member.post("/hosts/gate/edit/", typed(gate, jump=str(host.pk), labels=""))
    assert answer.status_code == 422
    assert "That is a ring: gate through llm-two through gate." in text(answer)
    assert Host.objects.get(name="gate").jump is None


def test_while_a_run_holds_it_nothing_changes_and_nothing_typed_is_lost(
    member: Client, host: Host
) -> None:
    HostLease.grant(host, holder="12", holder_name="Run 12")
    answer = member.post("/hosts/llm-two/edit/", typed(host, address="10.0.0.8", labels="typed"))
    assert answer.status_code == 409
    page = text(answer)
    assert "is held by Run 12" in page
    assert 'value="10.0.0.8"' in page
    assert 'value="typed"' in page
    kept = Host.objects.get()
    assert (kept.address, kept.labels, kept.keys.count()) == ("10.0.0.7", ["tp4"], 1)
    assert not HostEvent.objects.exists()


def test_a_jump_does_not_change_under_a_run_behind_it(member: Client, host: Host) -> None:
    gate = make_host("gate", address="10.0.0.1", key_path=host.key_path)
    middle = make_host("middle", address="10.0.0.2", key_path=host.key_path, jump=gate)
    Host.objects.filter(pk=host.pk).update(jump=middle)
    HostLease.grant(host, holder="12", holder_name="Run 12")
    answer = member.post("/hosts/gate/edit/", typed(gate, user="ops", labels=""))
    assert answer.status_code == 409
    assert "reached through gate" in text(answer)


def test_in_quarantine_the_login_may_be_put_right_but_not_the_place(
    member: Client, host: Host
) -> None:
    HostLease.grant(host, holder="12", holder_name="Run 12")
    HostLease.objects.update(status=HostLease.Status.QUARANTINED, why="nobody knows")
    answer = member.post("/hosts/llm-two/edit/", typed(host, port="2222"))
    assert answer.status_code == 409
    assert "Free it first" in text(answer)
    member.post("/hosts/llm-two/edit/", typed(host, user="ops"))
    assert (Host.objects.get().user, Host.objects.get().port) == ("ops", 22)


def test_what_cannot_be_right_is_refused_where_it_is_typed(member: Client, host: Host) -> None:
    answer = member.post("/hosts/llm-two/edit/", typed(host, user="-l", port="2222"))
    assert answer.status_code == 422
    assert "A login name begins" in text(answer)
    assert 'value="2222"' in text(answer)
    assert Host.objects.get().port == 22


def test_a_place_of_imported_figures_may_get_labels_or_an_address(
    member: Client, db: None, key_file: Path
) -> None:
    place = make_host("imported", address="", user="", key_path="", confirmed=False)
    member.post("/hosts/imported/edit/", typed(place, labels="old"))
    assert Host.objects.get().labels == ["old"]
    told = typed(place, address="10.0.0.9", user="bench", key_path=str(key_file))
    assert member.post("/hosts/imported/edit/", told)["Location"] == "/hosts/imported/key/"


def test_a_stranger_changes_nothing(stranger: Client, host: Host) -> None:
    answer = stranger.post("/hosts/llm-two/edit/", typed(host, user="ops"))
    assert answer["Location"].startswith("/sign-in/")
    assert Host.objects.get().user == "bench"
