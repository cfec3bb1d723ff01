"""The window that client and log share, and what it saves: the table of biases."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from statistics import fmean

import pytest

from runs.metrics.passes import Line, factors, inside
from runs.metrics.steady import (
    Clock,
    Misplaced,
    Span,
    Steady,
    by_hand,
    in_flight,
    longest,
    on_server,
    plateau,
    steady,
    tokens_inside,
)


def closed_loop(
    concurrency: int, requests: int, seed: int
) -> tuple[list[tuple[float, float]], list[Line], float, int]:
    """Clients that ask again at once, a server that gives each request a token per pass.

    Lengths are log-normal, clients begin within two seconds, a line comes every 40 passes.
    Returns the requests' times, the lines, a pass's seconds with all clients, and all tokens.
    """
    dice = random.Random(seed)
    lengths = [max(8, int(dice.lognormvariate(6.2, 0.5))) for _ in range(requests)]
    total, waiting = sum(lengths), lengths[::-1]
    arrivals = sorted(dice.uniform(0, 2.0) for _ in range(concurrency))
    running: list[tuple[int, float]] = []  # (pass at which it ends, sent)
    done, lines, now, passes = [], [], 0.0, 0
    since, tokens = 0.0, 0
    while running or waiting:
        while waiting and arrivals and arrivals[0] <= now:
            heapq.heappush(running, (passes + waiting.pop(), arrivals.pop(0)))
        if not running:
            now = since = arrivals[0]
            continue
        count = len(running)
        now += pass_seconds(count)
        passes += 1
        tokens += count
        while running and running[0][0] <= passes:
            _, sent = heapq.heappop(running)
            done.append((sent, now))
            if waiting:
                heapq.heappush(running, (passes + waiting.pop(), now))
        if passes % 40 == 0:
            lines.append(Line(now, now - since, tokens / (now - since), count, None))
            since, tokens = now, 0
    return done, lines, pass_seconds(concurrency), total


def pass_seconds(running: int) -> float:
    return 0.020 + 0.0001 * running


# client tokens over the whole time, mean of all lines: per cent of the true steady speed
TABLE = {
    (8, 80): (-9.3, -9.2),
    (32, 128): (-23.7, -25.7),
    (32, 320): (-11.9, -13.6),
    (64, 128): (-41.1, -47.6),
    (64, 256): (-28.3, -35.0),
    (64, 640): (-11.8, -15.7),
}


@pytest.mark.parametrize(("concurrency", "requests"), TABLE)
def test_whole_runs_are_bent_and_the_shared_window_is_not(concurrency: int, requests: int) -> None:
    whole_run, all_lines, shared = [], [], []
    for seed in range(6):
        done, lines, step, tokens = closed_loop(concurrency, requests, seed)
        true = concurrency / step
        whole = Span(min(s for s, _ in done), max(e for _, e in done))
        span = longest(in_flight(done), 0.95 * concurrency)
        assert span is not None
        window = on_server(span, Clock(), lines[len(lines) // 2].seconds)
        assert window is not None
        found = factors(inside(lines, window.start, window.end), equal="passes", speculative=False)
        assert found is not None
        whole_run.append(tokens / whole.seconds / true - 1)
        all_lines.append(fmean(line.output_tps for line in lines) / true - 1)
        shared.append(found.tps / true - 1)
    assert abs(fmean(shared)) <= 0.005
    by_client, by_lines = (share / 100 for share in TABLE[concurrency, requests])
    # lengths and step times of the table's own simulation are not ours: the size of it is
    assert fmean(whole_run) == pytest.approx(by_client, abs=0.04)
    assert fmean(all_lines) == pytest.approx(by_lines, abs=0.06)


def lines(count: int, running: float = 16, start: float = 1000.0) -> list[Line]:
    return [Line(start + 2.0 * (n + 1), 2.0, 800.0, running, None) for n in range(count)]


def curve(*points: tuple[float, float]) -> list[tuple[float, float]]:
    return list(points)


def test_the_window_is_the_longest_time_with_all_clients() -> None:
    found = longest(curve((0, 8), (2, 16), (30, 9), (32, 16), (90, 3), (95, 0)), 0.95 * 16)
    assert found == Span(32, 90)


def test_a_short_dip_is_bridged_and_a_long_one_is_not() -> None:
    dip = longest(curve((0, 16), (30, 12), (30.4, 16), (60, 0)), 15.2)
    gap = longest(curve((0, 16), (30, 12), (30.6, 16), (60, 0)), 15.2)
    assert (dip, gap) == (Span(0, 60), Span(0, 30))


def test_nothing_in_flight_makes_no_window() -> None:
    assert longest([], 1) is None
    assert longest(curve((0, 3), (9, 0)), 15) is None


def test_the_servers_clock_is_shifted_and_both_ends_are_trimmed() -> None:
    assert on_server(Span(10, 100), Clock(5, 0.5), 2.0) == Span(17.5, 102.5)
    assert on_server(Span(10, 14), Clock(), 2.0) is None


def test_an_open_loop_is_judged_by_its_plateau() -> None:
    open_loop = curve((0, 5), (2, 20), (50, 21), (90, 20), (98, 3), (100, 0))
    assert plateau(open_loop) == 20
    found = steady(Span(0, 102), lines(50, 20, start=0.0), open_loop, None)
    assert (found.source, found.span) == ("client", Span(4, 96))


def test_a_level_has_the_clients_window_on_the_servers_clock() -> None:
    told = curve((1000, 16), (1090, 4), (1100, 0))
    found = steady(Span(1000, 1100), lines(50), told, 16, Clock(0.0, 1.0))
    assert (found.source, found.why) == ("client", "")
    assert found.span == Span(1003, 1087)


@pytest.mark.parametrize(
    ("end", "count", "why"),
    [
        (1020, 50, "only 16 s with all clients in flight"),
        (1070, 12, "only 11 log lines with all clients in flight"),
        (1045, 50, "all clients were in flight for 20% of the level"),
    ],
)
def test_a_window_that_says_too_little_is_not_used(end: float, count: int, why: str) -> None:
    whole = Span(1000, 1205 if "level" in why else 1100)
    found = steady(whole, lines(count), curve((1000, 16), (end, 1), (1100, 0)), 16)
    assert (found.source, found.span, found.why) == ("whole run", whole, why)


def test_clients_that_were_never_all_there_leave_the_whole_level() -> None:
    found = steady(Span(1000, 1100), lines(50), curve((1000, 9), (1100, 0)), 16)
    assert (found.source, found.why) == ("whole run", "never 95% of the clients in flight")


def test_without_the_client_the_server_alone_tells_the_window() -> None:
    ramp = [Line(1000 + 2.0 * n, 2.0, 100.0, 2.0 * n, None) for n in range(1, 5)]
    told = [*ramp, *lines(40, 16, start=1008.0), *lines(5, 3, start=1088.0)]
    found = steady(Span(1000, 1100), told)
    assert (found.source, found.span) == ("server only", Span(1008, 1088))
    assert steady(Span(1000, 1100), []).source == "whole run"


def test_one_line_that_caught_a_change_of_requests_ends_no_window() -> None:
    told = [*lines(20), *lines(1, 15, start=1040.0), *lines(20, start=1042.0)]
    assert steady(Span(1000, 1082), told).span == Span(1000, 1082)
    low = [*lines(20), *lines(2, 15, start=1040.0), *lines(25, start=1044.0)]
    assert steady(Span(1000, 1094), low).span == Span(1044, 1094)


def test_a_window_by_hand_is_taken_and_flagged_where_it_says_little() -> None:
    whole = Span(1000, 1100)
    assert by_hand(1010, 1080, whole, lines(50)) == Steady(Span(1010, 1080), "by hand")
    short = by_hand(1010, 1030, whole, lines(50))
    assert short.why == "20 s, less than 30 s; 10 log lines, fewer than 20"
    assert by_hand(1000, 1100, whole, []).why == "0 log lines, fewer than 20"


@pytest.mark.parametrize(
    ("start", "end", "field", "words"),
    [
        (990, 1050, "start", "0 to 100.0 s; -10.0 s is outside"),
        (1050, 1101, "end", "101.0 s is outside"),
        (1050, 1050, "end", "ends before it begins"),
        (1060, 1050, "end", "ends before it begins"),
    ],
)
def test_a_window_by_hand_lies_inside_its_level(
    start: float, end: float, field: str, words: str
) -> None:
    with pytest.raises(Misplaced, match=words) as refused:
        by_hand(start, end, Span(1000, 1100), lines(50))
    assert refused.value.field == field


@dataclass
class Answer:
    first: float | None
    last: float | None
    output_tokens: int | None


def test_tokens_are_spread_evenly_over_their_request() -> None:
    told = [Answer(0, 10, 100), Answer(5, 25, 100), Answer(12, 12, 7), Answer(None, None, 0)]
    assert tokens_inside(told, Span(8, 15)) == pytest.approx(20 + 35 + 7)
    assert tokens_inside(told, Span(30, 40)) == 0
    assert tokens_inside([*told, Answer(0, 1, None)], Span(8, 15)) is None
