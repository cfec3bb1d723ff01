"""The level summary from requests with exact times."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.nodekit.loadstats import (
    Measured,
    distribution,
    inflight,
    percentile,
    steady_span,
    summarise,
    thinned,
    tokens_between,
    window,
)


def _request(send: float, first: float | None, last: float | None, **more: Any) -> Measured:
    fields: dict[str, Any] = {
        "n": 0,
        "send": send,
        "first": first,
        "last": last,
        "end": last if last is not None else send,
        "sent": True,
        "prompt_tokens": 10,
        "cached_tokens": None,
        "output_tokens": 11,
        "chunks": 3,
        "finish": "length",
        "error": None,
        "gaps": [],
    }
    return Measured(**{**fields, **more})


def _error(kind: str) -> dict[str, Any]:
    return {"kind": kind, "message": "", "status": None}


def test_percentiles_lie_between_their_neighbours() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5) == 3.0
    assert percentile([1.0, 2.0], 0.9) == pytest.approx(1.9)
    assert percentile([7.0], 0.99) == 7.0
    assert percentile([], 0.5) is None


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_in_order_and_within_the_values(values: list[float]) -> None:
    found = distribution(values)
    p50, p90, p99 = found["p50"], found["p90"], found["p99"]
    assert p50 is not None
    assert p90 is not None
    assert p99 is not None
    assert min(values) <= p50 <= p90 <= p99 <= max(values)


def test_a_level_of_two_requests() -> None:
    summary = summarise(
        [
            _request(0.0, 1.0, 3.0, gaps=[1.0, 1.0], cached_tokens=4),
            _request(0.5, 1.0, 5.0, gaps=[3.0, 1.0], output_tokens=21, cached_tokens=None),
        ],
        2,
    )
    assert (summary["requests"], summary["failed"], summary["duration_s"]) == (2, 0, 5.0)
    assert (summary["output_tokens"], summary["output_tps"]) == (32, 6.4)
    assert summary["tpot"]["mean"] == pytest.approx(0.2)
    assert summary["user_tps"] == {"mean": pytest.approx(5.0), "p50": pytest.approx(5.0)}
    assert summary["ttft"]["mean"] == 0.75
    assert summary["e2e"]["mean"] == 3.75
    assert summary["itl"]["mean"] == 1.5
    assert (summary["prompt_tokens"], summary["cached_tokens"]) == (20, 4)
    assert summary["inflight"] == [[0.0, 1], [0.5, 2], [3.0, 1], [5.0, 0]]
    # Of 11 tokens in [1, 3] all, of 21 tokens in [1, 5] half.
    assert summary["steady"] == {"start": 0.5, "end": 3.0, "output_tps": pytest.approx(21.5 / 2.5)}
    json.dumps(summary)


def test_unknown_tokens_stay_unknown() -> None:
    whole = _request(0.0, 1.0, 2.0)
    untold = _request(0.0, 1.0, 2.0, output_tokens=None, error=_error("no-usage"))
    summary = summarise([whole, untold], 2)
    assert summary["failed"] == 1
    assert (summary["output_tokens"], summary["output_tps"]) == (None, None)
    assert summary["steady"]["output_tps"] is None
    assert summary["ttft"]["mean"] == 1.0
    assert summary["tpot"]["mean"] == pytest.approx(0.1)  # of the one that told


def test_failed_requests_count_as_failed_and_nothing_else() -> None:
    failed = _request(0.0, 1.0, 9.0, output_tokens=None, error=_error("cut"))
    summary = summarise([_request(0.0, 1.0, 2.0), failed], 2)
    assert (summary["requests"], summary["failed"], summary["output_tokens"]) == (2, 1, 11)
    assert summary["e2e"]["p99"] == 2.0
    assert summary["duration_s"] == 9.0


def test_a_level_where_all_failed_is_all_unknown() -> None:
    refused = _request(1.0, None, None, output_tokens=None, error=_error("connect"))
    summary = summarise([refused, refused], 2)
    nothing = {"mean": None, "p50": None, "p90": None, "p99": None}
    assert (summary["requests"], summary["failed"]) == (2, 2)
    for key in ("ttft", "tpot", "itl", "e2e"):
        assert summary[key] == nothing
    for key in ("duration_s", "output_tokens", "output_tps", "prompt_tokens", "cached_tokens"):
        assert summary[key] is None
    assert summary["user_tps"] == {"mean": None, "p50": None}
    assert summary["steady"] is None


def test_a_level_without_requests_is_all_unknown() -> None:
    summary = summarise([], 4)
    assert (summary["requests"], summary["inflight"], summary["steady"]) == (0, [], None)
    assert summary["output_tokens"] is None


def test_an_answer_in_one_chunk_has_no_speed_per_token() -> None:
    summary = summarise([_request(0.0, 1.0, 1.0)], 1)
    assert (summary["tpot"]["mean"], summary["user_tps"]["mean"]) == (None, None)
    assert summary["output_tps"] == 11.0


def test_what_was_never_sent_was_never_in_flight() -> None:
    skipped = _request(9.0, None, None, sent=False, error=_error("not-sent"))
    summary = summarise([_request(0.0, 1.0, 2.0), skipped], 1)
    assert summary["inflight"] == [[0.0, 1], [2.0, 0]]
    assert window([skipped]) is None


def test_steady_is_the_longest_stretch_at_full_concurrency() -> None:
    curve = [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 2), (9.0, 1), (9.2, 2), (12.0, 1), (20.0, 0)]
    assert steady_span(curve, 2) == (3.0, 12.0)  # the dip of 0.2 s is bridged, that of 1 s is not


def test_steady_allows_a_twentieth_to_be_missing() -> None:
    curve = [(0.0, 94), (1.0, 95), (5.0, 100), (6.0, 94), (8.0, 0)]
    assert steady_span(curve, 100) == (1.0, 6.0)


@pytest.mark.parametrize("curve", [[], [(0.0, 1), (1.0, 0)], [(1.0, 0)]])
def test_there_may_be_no_steady_stretch(curve: list[tuple[float, int]]) -> None:
    assert steady_span(curve, 2) is None


def test_changes_at_the_same_moment_are_one_step() -> None:
    requests = [_request(0.0, 0.5, 1.0), _request(1.0, 1.5, 2.0)]
    assert inflight(requests) == [(0.0, 1), (1.0, 1), (2.0, 0)]


def test_tokens_of_a_request_without_a_span_fall_where_it_answered() -> None:
    requests = [_request(0.0, 1.0, 1.0), _request(0.0, 5.0, 5.0)]
    assert tokens_between(requests, 0.0, 2.0) == 11.0


@given(st.integers(1, 3000), st.integers(3, 400))
def test_a_thinned_curve_keeps_its_ends_and_its_size(size: int, most: int) -> None:
    curve = [(float(moment), moment % 7) for moment in range(size)]
    thin = thinned(curve, most)
    assert len(thin) <= most or size <= most
    assert (thin[0], thin[-1]) == (curve[0], curve[-1])
    assert [t for t, _ in thin] == sorted({t for t, _ in thin})
    assert set(thin) <= set(curve)
