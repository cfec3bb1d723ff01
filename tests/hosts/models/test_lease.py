"""Leases: what may be held side by side, by whom, and under which token."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connections

from hosts.actions.leases import free_quarantine, take_over
from hosts.models import Host, HostEvent, HostLease, Installation
from people.models import Person
from tests.factories import make_facts, make_host

AT_ONCE = 50


def grant(host: Host, holder: str, *gpus: int, port: int | None = None) -> HostLease | None:
    return HostLease.grant(host, holder=holder, holder_name=f"Run {holder}", gpus=gpus, port=port)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (((), 1), ((), 2), False),
        (((), 1), ((0,), 2), False),
        (((0,), 1), ((), 2), False),
        (((0,), 1), ((1,), 2), True),
        (((0, 1), 1), ((1, 2), 2), False),
        (((0,), 1), ((1,), 1), False),
        (((0,), None), ((1,), None), True),
    ],
)
def test_what_may_be_held_side_by_side(db: None, one: Any, other: Any, both: bool) -> None:
    host = make_host("node")
    assert grant(host, "a", *one[0], port=one[1])
    assert bool(grant(host, "b", *other[0], port=other[1])) is both


def test_each_grant_has_a_token_above_all_before_on_whatever_host(db: None) -> None:
    first, second = make_host("one"), make_host("two", key="ssh-ed25519 BBBB")
    tokens = []
    for holder, host in enumerate([first, second, first, second]):
        lease = grant(host, str(holder), holder)
        assert lease
        tokens.append(lease.fence)
    assert tokens == sorted(set(tokens))
    assert Installation.current().fence == tokens[-1]


def test_a_grant_to_its_holder_changes_nothing(db: None) -> None:
    host = make_host("node")
    assert grant(host, "a", 0) == grant(host, "a", 1)
    assert HostLease.objects.get().gpus == [0]


def test_two_names_of_one_machine_share_its_gpus(db: None) -> None:
    one, other, third = (
        make_host(name, key=f"ssh-ed25519 {name}") for name in ("one", "other", "third")
    )
    make_facts(one, machine_id="m1")
    make_facts(other, machine_id="m1")
    make_facts(third, machine_id="m2")
    assert grant(one, "a", 0, port=1)
    assert grant(other, "b", 0, port=2) is None
    assert grant(other, "c", 1, port=2)
    assert grant(third, "d", 0, port=1)


def test_a_machine_nobody_looked_at_is_known_by_its_key(db: None) -> None:
    one, other, third = (make_host(name, key="ssh-ed25519 same") for name in ("a", "b", "c"))
    make_facts(one, machine_id="m1")
    make_facts(third, machine_id="m3")  # a copied image: its own id counts
    assert grant(one, "a")
    assert grant(other, "b") is None
    assert grant(third, "c")


def test_a_quarantine_blocks_what_it_meets_until_a_person_frees_it(db: None) -> None:
    host, by = make_host("node"), Person.objects.create(username="owner")
    assert grant(host, "a", 0, port=1)
    assert HostLease.quarantine(host, "a", "process 17 survives KILL")
    assert grant(host, "b", 0, port=2) is None
    assert grant(host, "a", 0, port=1) is None
    assert grant(host, "c", 1, port=3)
    lease = HostLease.objects.get(holder="a")
    assert "GPU 0 of node is in quarantine" in lease.in_words((0,), 2)
    assert free_quarantine(lease=lease, note="rebooted", by=by)
    assert not free_quarantine(lease=lease, note="twice", by=by)
    assert grant(host, "b", 0, port=2)
    event = HostEvent.objects.get()
    assert (event.kind, event.note, event.by) == ("freed", "rebooted", by)
    assert "process 17 survives KILL" in event.text


def test_evidence_frees_a_quarantine(db: None) -> None:
    host = make_host("node")
    assert grant(host, "a")
    HostLease.quarantine(host, "a", "unreachable")
    assert HostLease.release(host, holder="a")
    assert grant(host, "b")


def test_what_is_held_is_not_freed_as_a_quarantine(db: None) -> None:
    lease = grant(make_host("node"), "a")
    assert lease and not free_quarantine(lease=lease, note="", by=None)


def test_a_quarantine_must_say_why(db: None) -> None:
    host = make_host("node")
    grant(host, "a")
    with pytest.raises(IntegrityError):
        HostLease.quarantine(host, "a", "")


def test_f77_a_holder_gets_past_what_the_node_has_seen(db: None) -> None:
    host = make_host("node")
    lease = grant(host, "a", 0, port=1)
    assert lease
    raised = HostLease.raise_past(host, holder="a", seen=400)
    assert raised and raised.fence == 401
    assert HostLease.raise_past(host, holder="nobody", seen=500) is None
    later = grant(host, "b", 1, port=2)
    assert later and later.fence == 402
    assert HostLease.raise_past(host, holder="a", seen=402) is None  # given to a later holder


def test_an_order_tells_what_is_held_and_that_the_node_was_taken_over(db: None) -> None:
    host = make_host("node")
    lease = grant(host, "a", 3, 0, port=30000)
    assert lease
    owner = str(Installation.current().uid)
    keys = ["gpu-0", "gpu-3", "port-30000"]
    told = {"owner": owner, "token": lease.fence, "keys": keys}
    assert lease.order().order() == told
    take_over(host=host, note="ours now", by=None)
    again = HostLease.of(host, "a")
    assert again and again.order().order() == {**told, "takeover": True}
    HostLease.release(host, holder="a")
    whole = grant(host, "b")
    assert whole and whole.order().keys == ("whole",)


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What ``work`` returned in each of that many threads, all let go at one moment."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(n: int) -> None:
        try:
            barrier.wait()
            results[n] = work(n)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_f54_of_fifty_who_want_a_host_at_once_one_gets_it(transactional_db: None) -> None:
    host = make_host("node")
    got = [lease for lease in at_once(AT_ONCE, lambda n: grant(host, str(n))) if lease]
    assert len(got) == 1
    assert [(x.holder, x.fence) for x in got] == [(x.holder, 1) for x in HostLease.objects.all()]


def test_f54_of_fifty_who_want_four_gpus_at_once_four_get_one_each(transactional_db: None) -> None:
    """Each on its own port, and under two names of the machine."""
    hosts = [make_host(name, key=f"ssh-ed25519 {name}") for name in ("one", "other")]
    for host in hosts:
        make_facts(host, machine_id="m1")
    got = at_once(AT_ONCE, lambda n: grant(hosts[n % 2], str(n), n % 4, port=n % 4 + 1))
    leases = [lease for lease in got if lease]
    assert sorted(gpu for lease in leases for gpu in lease.gpus) == [0, 1, 2, 3]
    assert sorted(lease.fence for lease in leases) == [1, 2, 3, 4]
