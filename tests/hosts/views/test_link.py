"""How the way to a host is kept: what is shown, and when nobody may try."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from hosts.actions.again import try_again
from hosts.models import Host, HostEvent, HostKey, HostLink, LinkState
from hosts.transport.errors import HostKeyChanged, KeyUnusable, LoginRefused, Unreachable
from tests.factories import make_host
from tests.signed_in import text

REFUSED = LoginRefused("demo@node refused the login.")
CHANGED = HostKeyChanged("It shows another key.", expected=("SHA256:old",), offered="SHA256:new")


@pytest.fixture
def host(db: None) -> Host:
    return make_host("llm-two")


def saw(host: Host, *errors: Exception | None) -> HostLink:
    for error in errors:
        HostLink.saw(host.pk, host.target(), error)  # type: ignore[arg-type]
    return HostLink.objects.get(host=host)


def test_reconnecting_becomes_unreachable_with_time_and_keeps_its_beginning(host: Host) -> None:
    way = saw(host, Unreachable("no answer"))
    assert way.link == LinkState.RECONNECTING
    begun = timezone.now() - timedelta(seconds=46)
    HostLink.objects.update(link_since=begun)
    HostLink.age()
    way = saw(host, Unreachable("no answer again"))
    assert (way.link, way.link_since) == (LinkState.UNREACHABLE, begun)
    assert saw(host, None).link == LinkState.OK


def test_f62_after_three_refusals_nobody_tries_until_a_person_says_so(host: Host) -> None:
    target = host.target()
    saw(host, REFUSED, REFUSED)
    assert HostLink.barrier(host.pk, target) is None
    way = saw(host, REFUSED)
    assert way.link == LinkState.LOGIN_REFUSED and way.asks_a_person
    assert isinstance(HostLink.barrier(host.pk, target), LoginRefused)
    assert try_again(host=host, by=None)
    assert HostLink.barrier(host.pk, target) is None
    assert not try_again(host=host, by=None)
    assert [event.kind for event in HostEvent.objects.all()] == ["try-again"]


def test_f62_a_changed_login_is_tried_at_once_and_counted_anew(host: Host) -> None:
    saw(host, REFUSED, REFUSED, REFUSED)
    host.user = "other"
    assert HostLink.barrier(host.pk, host.target()) is None
    assert saw(host, REFUSED).refusals == 1


def test_f62_a_key_of_ours_that_cannot_be_read_locks_nobody_out(host: Host) -> None:
    way = saw(host, *[KeyUnusable("No such file.")] * 4)
    assert way.link == LinkState.LOGIN_REFUSED and not way.asks_a_person
    assert HostLink.barrier(host.pk, host.target()) is None


def test_f61_after_another_key_nobody_tries_until_one_is_confirmed(host: Host) -> None:
    saw(host, CHANGED)
    barrier = HostLink.barrier(host.pk, host.target())
    assert isinstance(barrier, HostKeyChanged)
    assert (barrier.expected, barrier.offered) == (("SHA256:old",), "SHA256:new")
    assert try_again(host=host, by=None)  # compares the key again, before any login
    assert HostLink.barrier(host.pk, host.target()) is None
    saw(host, CHANGED)
    HostKey.objects.create(host=host, public="ssh-ed25519 BBBB", fingerprint="SHA256:new")
    assert HostLink.barrier(host.pk, Host.objects.get().target()) is None


def test_f61_the_hosts_page_shows_both_fingerprints_and_who_must_confirm(
    member: Client, host: Host
) -> None:
    saw(host, CHANGED)
    page = text(member.get("/hosts/llm-two/"))
    assert "Key changed" in page and "SHA256:old" in page and "SHA256:new" in page
    assert "on its own console" in page and "Compare and confirm the new key" in page
    assert "key changed since" in text(member.get("/hosts/"))


def test_f62_the_hosts_page_has_a_button_to_try_again(member: Client, host: Host) -> None:
    saw(host, REFUSED, REFUSED, REFUSED)
    page = text(member.get("/hosts/llm-two/"))
    assert "Login refused" in page and "no more are tried" in page and "Try again" in page
    member.post("/hosts/llm-two/try-again/")
    assert HostLink.objects.get().refusals == 0


def test_f61_another_key_of_a_jump_host_leads_to_that_hosts_page(member: Client, db: None) -> None:
    gate = make_host("gate")
    host = make_host("llm-two", jump=gate)
    changed = HostKeyChanged(
        "gate shows another key.", expected=("SHA256:old",), offered="SHA256:n"
    )
    changed.hop = 0
    assert saw(host, changed).at == gate
    barrier = HostLink.barrier(host.pk, host.target())
    assert isinstance(barrier, HostKeyChanged) and barrier.hop == 0
    page = text(member.get("/hosts/llm-two/"))
    assert "Compare and confirm the new key of gate" in page
    assert 'href="/hosts/gate/key/"' in page
    assert saw(host, REFUSED).at == host  # by now it is the host itself
    HostLink.objects.update(hop=3)
    assert HostLink.objects.get().at == host  # the way has changed since
