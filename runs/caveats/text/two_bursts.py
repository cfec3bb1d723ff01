"""One arm's lines come in bursts far apart that do not look like the same server."""

from collections.abc import Sequence
from itertools import pairwise

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import Sample
from runs.metrics.window import seconds_between

FAR_S = 30 * 60.0
MIN_LINES = 3
MIN_CHANGE = 0.05  # of accept len; within one setting it moves less between bursts of one load


def find(paste: Paste) -> Finding | None:
    """Fire when one part's decode lines pause for half an hour and come back with another length.

    The longest such pause is told.
    """
    found: tuple[float, float, float] | None = None
    for samples in paste.part_samples():
        lines = [each for each in samples if each.phase == "decode" and each.time]
        for place, (before, here) in enumerate(pairwise(lines), start=1):
            pause = seconds_between(before.time, here.time)
            if pause is None or pause < FAR_S or (found and pause <= found[0]):
                continue
            first, second = _length(lines[:place]), _length(lines[place:])
            if first and second and abs(second / first - 1) >= MIN_CHANGE:
                found = (pause, first, second)
    if found is None:
        return None
    pause, first, second = found
    apart = f"{pause / 3600:.1f} h" if pause >= 5400 else f"{pause / 60:.0f} min"
    text = (
        f"Two bursts of decode lines, {apart} apart, with accept len {first:.2f} and {second:.2f}: "
        "if another server or other settings ran in the second, import each burst by itself; a "
        "mean over both is of neither."
    )
    return Finding(
        "two-bursts",
        text,
        {
            "minutes_apart": round(pause / 60, 1),
            "before": round(first, 2),
            "after": round(second, 2),
        },
    )


def _length(lines: Sequence[Sample]) -> float | None:
    told = [each.accept_len for each in lines if each.accept_len]
    return sum(told) / len(told) if len(told) >= MIN_LINES else None
