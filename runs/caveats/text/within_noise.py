"""The difference is smaller than the spread of repeats."""

from math import log, sqrt
from statistics import fmean, variance

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, measured_once
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire when two arms with repeats at one concurrency differ by less than twice the spread."""
    for concurrency in dict.fromkeys(row.concurrency for row in paste.rows):
        arms: dict[str, list[float]] = {}
        for row in measured_once(paste.rows):
            name = row.context.get("tag") or row.name or row.context.get("label")
            speed = row.value("output_tps")
            if row.concurrency == concurrency and name and speed and speed > 0:
                arms.setdefault(str(name), []).append(speed)
        repeated = {name: speeds for name, speeds in arms.items() if len(speeds) > 1}
        if len(repeated) > 1:
            found = _judged(repeated)
            if found is not None:
                return found
    return None


def _judged(arms: dict[str, list[float]]) -> Finding | None:
    (first, left), *others = arms.items()
    for name, right in others:
        change = log(fmean(right)) - log(fmean(left))
        spread = sqrt(_variance(left) / len(left) + _variance(right) / len(right))
        if abs(change) < 2 * spread:
            text = (
                f"{name} and {first} differ by {abs(change):.1%} over {len(left)} and {len(right)} "
                "repeats that spread by "
                f"{max(sqrt(_variance(left)), sqrt(_variance(right))):.1%}: no "
                "difference was seen."
            )
            evidence: dict[str, JSON] = {
                "difference": round(change, 4),
                "standard_error": round(spread, 4),
            }
            return Finding("within-noise", text, evidence)
    return None


def _variance(values: list[float]) -> float:
    return variance([log(value) for value in values])
