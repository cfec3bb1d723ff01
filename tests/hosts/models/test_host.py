"""A host and the way to it."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from hosts.models import Host
from hosts.transport.protocol import MAX_JUMPS
from hosts.transport.wellformed import problem_with
from tests.factories import KEY, make_host


def chain(length: int) -> list[Host]:
    """``length`` hosts, each behind the one before."""
    made: list[Host] = []
    for i in range(length):
        made.append(make_host(f"hop-{i}", port=1000 + i, jump=made[-1] if made else None))
    return made


def test_the_target_carries_the_way(db: None) -> None:
    *_, last = chain(3)
    target = Host.objects.get(pk=last.pk).target()
    assert [place.port for place in target.way] == [1000, 1001, 1002]
    assert all(place.host_keys == (KEY,) for place in target.way)
    assert hash(target) == hash(Host.objects.get(pk=last.pk).target())
    assert problem_with(target) is None


def test_a_ring_of_jumps_is_refused(db: None) -> None:
    first, _, last = chain(3)
    first.jump = last
    with pytest.raises(ValidationError, match="That is a ring: hop-0 through hop-2 through hop-1"):
        first.clean()
    first.jump = first
    with pytest.raises(ValidationError, match="That is a ring"):
        first.clean()


def test_a_ring_that_came_into_the_database_reaches_nothing(db: None) -> None:
    first, second = chain(2)
    Host.objects.filter(pk=first.pk).update(jump=second)
    problem = problem_with(Host.objects.get(pk=first.pk).target())
    assert problem is not None
    assert "in a ring" in problem.message


def test_a_way_may_not_grow_too_long_at_either_end(db: None) -> None:
    *_, last = chain(MAX_JUMPS + 1)
    last.clean()
    beyond = Host(name="beyond", address="x", user="u", key_path="/k", jump=last)
    with pytest.raises(ValidationError, match=f"At most {MAX_JUMPS}"):
        beyond.clean()
    before = make_host("before")
    first = Host.objects.get(name="hop-0")
    first.jump = before
    with pytest.raises(ValidationError, match=f"At most {MAX_JUMPS}"):
        first.clean()


def test_a_host_without_an_address_is_no_jump(db: None) -> None:
    imported = make_host("imported", address="", confirmed=False)
    host = make_host("llm-two", jump=imported)
    with pytest.raises(ValidationError, match="has no address to pass through"):
        host.clean()
