"""The state of a comparison's page, as its address says it."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from runs.viewstate import ViewState, read


def of(query: str) -> ViewState:
    given = parse_qsl(query, keep_blank_values=True)
    return read("3~4", given, letters=["B", "C"], levels=[1, 16])


@pytest.mark.parametrize(
    "query",
    [
        "?arms=3~4",
        "?arms=3~4&arm=C&metric=ttft_p50&sort=factor&hide=1&filter=better+16&open=16&level=1&zoom=pareto",
        "?arms=3~4&hide=1&utm_source=chat",
    ],
)
def test_an_address_says_the_state_and_the_state_says_the_address(query: str) -> None:
    state = of(query[1:])
    assert state.query() == query
    assert state.unknown == ()


def test_what_is_the_default_stands_in_no_address() -> None:
    state = of("arms=3~4&sort=concurrency&hide=0&metric=&filter=++")
    assert state.query() == "?arms=3~4"


def test_parameters_of_others_are_handed_on() -> None:
    state = of("arms=3~4&theirs=1&open=16&theirs=2")
    assert state.query(open=None) == "?arms=3~4&theirs=1&theirs=2"


def test_of_very_many_of_them_only_some_are() -> None:
    state = of("&".join(["arms=3~4", *(f"k{n}={'v' * 100}" for n in range(900))]))
    assert 1500 < len(state.query()) < 2200


@pytest.mark.parametrize(
    "given", ["metric=speed", "sort=name", "hide=maybe", "open=7", "level=x", "zoom=all", "arm=A"]
)
def test_values_that_nobody_knows_are_named_and_left_out(given: str) -> None:
    state = of(f"arms=3~4&{given}")
    assert state.unknown == (given,)
    assert state.query() == "?arms=3~4"


def test_a_change_leaves_the_rest_as_it_is() -> None:
    state = of("arms=3~4&hide=1&sort=factor")
    assert state.query(hide=False) == "?arms=3~4&sort=factor"
