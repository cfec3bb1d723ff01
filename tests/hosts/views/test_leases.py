"""A host's page: who holds what, freeing a quarantine, taking a node over."""

from __future__ import annotations

from django.test import Client

from hosts.models import Host, HostEvent, HostLease
from tests.factories import make_host
from tests.signed_in import text


def quarantined() -> tuple[Host, HostLease]:
    host = make_host("llm-two")
    HostLease.grant(host, holder="a", holder_name="Run 14", gpus=[2], port=30001)
    HostLease.quarantine(host, "a", "process 4711 survives KILL")
    return host, HostLease.objects.get()


def test_a_quarantine_and_its_reason_stand_on_the_page_and_in_the_list(
    member: Client, db: None
) -> None:
    quarantined()
    page = text(member.get("/hosts/llm-two/"))
    assert "GPU 2: in quarantine" in page and "process 4711 survives KILL" in page
    assert "GPU 2 in quarantine" in text(member.get("/hosts/"))


def test_a_quarantine_ends_only_by_somebody_who_says_that_they_have_looked(
    member: Client, db: None
) -> None:
    _, lease = quarantined()
    free = f"/hosts/llm-two/free/{lease.pk}/"
    assert "Look first" in text(member.post(free, {"note": "x"}, follow=True))
    assert HostLease.objects.exists()
    member.post(free, {"note": "rebooted it", "looked": "on"})
    assert not HostLease.objects.exists()
    event = HostEvent.objects.get()
    assert (event.kind, event.note) == ("freed", "rebooted it") and event.by
    assert "rebooted it" in text(member.get("/hosts/llm-two/"))
    assert member.post(free, {"looked": "on"}).status_code == 404


def test_a_node_is_taken_over_by_its_typed_name_only(member: Client, db: None) -> None:
    make_host("llm-two")
    answer = member.post("/hosts/llm-two/take-over/", {"name": "llm-one"})
    assert answer.status_code == 422 and "This is not llm-two." in text(answer)
    assert Host.objects.get().takeover_at is None
    member.post("/hosts/llm-two/take-over/", {"name": "llm-two", "note": "moved"})
    assert Host.objects.get().takeover_at is not None
    event = HostEvent.objects.get()
    assert (event.kind, event.note) == ("taken-over", "moved") and event.by
