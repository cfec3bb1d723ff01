"""The sentence of a comparison. What single launches show is a hint, and is called one."""

from collections.abc import Sequence

from runs.metrics.catalogue import METRICS
from runs.metrics.compare import LevelChange
from runs.metrics.format import number, percent_change, percent_range, times

HINT = "a hint, not a verdict"


def level_words(change: LevelChange) -> str:
    """Say what one level shows: 'single launch, a hint: +51 %'."""
    if change.change is None:
        return _missing(change)
    words = percent_change(change.change)
    if min(change.launches_before, change.launches_after) <= 1:
        return f"single launch, a hint: {words}"
    launches = f"{change.launches_before} and {change.launches_after} launches"
    return f"{words} between the means of {launches}"


def _missing(change: LevelChange) -> str:
    if change.before is None and change.after is None:
        return "not measured"
    if change.before is None:
        return "not comparable: the baseline was not measured here"
    if change.after is None:
        return "not comparable: measured in the baseline only"
    return "not comparable: the baseline is zero"


def sweep_words(changes: Sequence[LevelChange], before: str, after: str) -> str:
    """Say in one sentence what a sweep of one metric shows.

    'steps=2 gives +10 to +50 % output tok/s against steps=1 at 5 concurrency levels; one launch
    each: a hint, not a verdict.'
    """
    known = [change for change in changes if change.change is not None]
    if not known:
        return f"{after} and {before} share no concurrency level that was measured in both."
    values = [change.change for change in known if change.change is not None]
    metric = METRICS[known[0].metric].label if known[0].metric in METRICS else known[0].metric
    gives = _spread(known, min(values), max(values), metric)
    return f"{after} gives {gives} against {before} {_where(known)}; {_launches(known)}."


def user_words(changes: Sequence[LevelChange]) -> str:
    """Say beneath a sweep's sentence what it means per user: 'Per user it is +27 to +56 %.'

    Nothing for changes of which none is known.
    """
    known = [change for change in changes if change.change is not None]
    if not known:
        return ""
    values = [change.change for change in known if change.change is not None]
    only = ""
    if len(known) < len(changes):
        only = f" (measured at {len(known)} of {len(changes)} levels)"
    return f"Per user it is {_spread(known, min(values), max(values), '')}{only}."


def _spread(known: Sequence[LevelChange], low: float, high: float, metric: str) -> str:
    if low < 0 < high:
        worst = min(known, key=lambda each: each.change or 0)
        best = max(known, key=lambda each: each.change or 0)
        return (
            f"{_of(percent_change(best.change), metric)} at concurrency {best.concurrency} and "
            f"{percent_change(worst.change)} at {worst.concurrency}"
        )
    return _of(percent_range(low, high), metric)


def _of(figure: str, metric: str) -> str:
    return f"{figure} {metric}".rstrip()


def _where(known: Sequence[LevelChange]) -> str:
    if len(known) == 1:
        return f"at concurrency {known[0].concurrency}"
    return f"over {len(known)} concurrency levels"


def _launches(known: Sequence[LevelChange]) -> str:
    fewest = min(min(each.launches_before, each.launches_after) for each in known)
    if fewest <= 1:
        return f"one launch each: {HINT}"
    return f"at least {fewest} launches each, noise not yet judged"


def speedup_words(values: Sequence[float], baseline: float) -> str:
    """Say how much faster single log lines are: '×2.4 to ×2.7 (mean of 2 lines ×2.53)'.

    Values and baseline are in tok/s. Raises ValueError without values or baseline.
    """
    if not values or baseline <= 0:
        raise ValueError("a speed-up needs at least one value and a baseline above zero")
    low, high = min(values) / baseline, max(values) / baseline
    mean = sum(values) / len(values) / baseline
    span = f"{times(low, 1)} to {times(high, 1)}" if len(values) > 1 else times(high, 1)
    lines = f"mean of {len(values)} lines" if len(values) > 1 else "one line"
    return f"{span} ({lines} {times(mean)}) against {number(baseline)} tok/s"
