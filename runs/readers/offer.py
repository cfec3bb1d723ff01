"""The comparison that a text asks for next: what would tell more than it does by itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from runs.engines.base import JSON

if TYPE_CHECKING:
    from runs.readers.reading import Reading

_CLOCK = slice(11, 16)  # of '2026-11-19T11:10:00'


def offer(reading: Reading) -> str | None:
    """Give the first proposal that fits; None where nothing found asks for another run.

    What makes figures worthless goes before what makes them doubtful.
    """
    slugs = {each.slug for each in reading.caveats}
    for slug, words in _BY_CAVEAT:
        if slug in slugs and (told := words(reading) if callable(words) else words):
            return told
    if "best_steps_by_concurrency" in reading.derived:
        return "Speed-up over the baseline by concurrency, one line for each number of steps."
    return None


def _lives(reading: Reading) -> str | None:
    """Two lives of a server are two arms where a setting of theirs differs."""
    lives = [(n, each.told) for n, each in enumerate(reading.segments, 1) if each.samples]
    for (n, one), (m, two) in pairwise(lives):
        for name, word in _SETTINGS:
            if one.get(name) != two.get(name):
                return (
                    f"Compare life {n} ({word}={_told(one.get(name))}) with life {m} "
                    f"({word}={_told(two.get(name))}): each is an arm of its own."
                )
    return None


_SETTINGS = (
    ("spec_algorithm", "speculation"),
    ("spec_num_steps", "steps"),
    ("spec_num_draft_tokens", "draft tokens"),
    ("max_running_requests", "running limit"),
    ("tp", "tp"),
    ("model", "model"),
)


def _told(value: JSON) -> str:
    return "not told" if value is None else str(value)


def _graphs(reading: Reading) -> str | None:
    ceiling = reading.derived.get("graph_max_bs") or reading.context.get("graph_max_bs")
    most = max((each.running or 0 for each in reading.samples if each.graph is False), default=0)
    if not isinstance(ceiling, int) or most <= ceiling:
        return None
    return (
        f"The same load with graphs captured up to {most} requests, or with at most {ceiling} "
        "running."
    )


def _cooled(reading: Reading) -> str:
    since = reading.derived.get("throttled_from")
    if isinstance(since, str) and len(since) >= _CLOCK.stop:
        return f"Leave out what was measured from {since[_CLOCK]} on, or repeat once it has cooled."
    return "Repeat once the GPU has cooled, or at fixed clocks."


def _flushed(reading: Reading) -> str | None:
    shares = reading.derived.get("cached_share")
    if len(reading.results) < 2 and not (isinstance(shares, list) and len(shares) > 1):
        return None
    return "Flush the cache between runs or change the seed, then compare again."


def _by_point(reading: Reading) -> str | None:
    if len(reading.results) < 2:
        return None
    return (
        "Accept len of each point from the log inside the run's window, or a restart between "
        "points."
    )


_Words = str | Callable[["Reading"], str | None]
_BY_CAVEAT: tuple[tuple[str, _Words], ...] = (
    (
        "wrong-server",
        "Before each run ask the server itself (/server_info) which arguments it runs with; keep "
        "its start time and process beside the figures.",
    ),
    ("restart-in-window", _lives),
    ("simulated-acceptance", "The same load with acceptance as the draft really has it."),
    ("degenerate-output", "The same prompts without a forced length, and a look at the texts."),
    ("within-noise", "More repeats of both; until then no difference was seen."),
    (
        "client-bottleneck",
        "Repeat with several client processes or from another node, with the server's running and "
        "waiting requests beside the client's concurrency.",
    ),
    ("thermal-throttle", _cooled),
    ("open-loop-overload", "A closed loop over several concurrencies."),
    ("all-at-once", "A closed loop over several concurrencies."),
    ("output-length-mismatch", "The same output length on both sides."),
    ("cache-flush-failed", "Flush the cache while nothing runs, then compare again."),
    ("prefix-cache-warm", _flushed),
    ("cuda-graph-off", _graphs),
    ("running-capped", "The same load with a running limit at or above it, on both sides."),
    ("context-growth", "Compare runs in bands of tokens per request."),
    ("accept-len-cumulative", _by_point),
    ("jit-warmup", "The same once more, now that everything is compiled."),
)
