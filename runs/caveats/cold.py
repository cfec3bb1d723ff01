"""The server was still getting faster while it was measured."""

from collections.abc import Sequence

from runs.caveats.base import Experiment, Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import share

MAX_FALL = 0.03


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on the first level after the start: step time falls by more than 3 %, or no warm-up."""
    first = next((level for level in levels if level.first), None)
    if first is None:
        return None
    fall = first.step_fall
    if fall is not None and fall > MAX_FALL:
        text = (
            f"At level {first.concurrency}, the first after the start, a forward pass took "
            f"{share(fall)} less time at the end than at the begin: the server was not warm yet, "
            "and its mean reads low."
        )
        return Finding("cold", text, {"level": first.concurrency, "step_fall": round(fall, 4)})
    if fall is None and first.warmed == 0:
        text = (
            f"Level {first.concurrency}, the first after the start, had 0 warm-up requests, and no "
            "log tells whether the server was warm."
        )
        return Finding("cold", text, {"level": first.concurrency, "warmup_requests": 0})
    return None


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "cold",
    "warn",
    find,
    Experiment("64 warm-up requests", {"warmup_requests": 64}, confirmed_by="better"),
)
