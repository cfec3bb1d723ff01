"""What several results say beside one another: means of repeats, best steps, changes."""

from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from statistics import fmean, stdev

from runs.caveats.text.paste import measured_once
from runs.engines.base import JSON
from runs.readers.reading import arm_of
from runs.readers.results.base import ResultRow

_Found = dict[str, JSON]
_RATIOS = {
    "mean_over_peak": ("output_tps", "peak_output_tps"),
    "itl_over_tpot": ("itl_mean", "tpot_mean"),
    "retokenized_share": ("output_tokens_retokenized", "output_tokens"),
}


def derived_of_rows(rows: Sequence[ResultRow]) -> _Found:
    """Give ratios of a single row, and what several rows say together."""
    if not rows:
        return {}
    found: _Found = {
        "attempts": len(measured_once(rows)),
        "points": len({(each.concurrency, each.context.get("spec_num_steps")) for each in rows}),
    }
    if len(rows) == 1:
        return found | _single(rows[0])
    measured = measured_once(rows)
    return found | _lengths(rows) | _pair(measured) | _repeats(measured) | _steps(rows)


def _single(row: ResultRow) -> _Found:
    """Give the ratios that tell how far one row can be trusted."""
    found: _Found = {}
    for name, (above, below) in _RATIOS.items():
        left, right = row.value(above), row.value(below)
        if left is not None and right:
            found[name] = left / right
    offered = row.context.get("request_rate", row.value("request_rate"))
    served = row.value("requests_per_s")
    if isinstance(offered, int | float) and isfinite(offered) and served:
        found["offered_over_served"] = offered / served
    if row.concurrency_measured is not None:
        found["client_concurrency"] = row.concurrency_measured
        if row.concurrency:
            share = row.concurrency_measured / row.concurrency
            found["measured_over_requested_concurrency"] = share
    return found


def _lengths(rows: Sequence[ResultRow]) -> _Found:
    printed: list[JSON] = [row.value("accept_len_cumulative") for row in rows]
    own: list[JSON] = [row.context.get("accept_len_run") for row in rows]
    if None in printed or None in own:
        return {}
    return {"accept_len_by_run_from_log": own, "accept_len_printed_by_client": printed}


def _pair(rows: Sequence[ResultRow]) -> _Found:
    """Compare two runs at one point."""
    if len(rows) != 2 or rows[0].concurrency != rows[1].concurrency:
        return {}
    found: _Found = {}
    first, second = rows[0].value("output_tps"), rows[1].value("output_tps")
    if first and second:
        found["output_tok_per_s_change"] = second / first - 1
    first, second = rows[0].value("ttft_mean"), rows[1].value("ttft_mean")
    if first and second:
        found["ttft_ratio"] = first / second
    return found


def _repeats(rows: Sequence[ResultRow]) -> _Found:
    """Give mean and spread of arms that were repeated at one and the same concurrency."""
    arms: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        name, speed = arm_of(row), row.value("output_tps")
        if name and speed:
            arms[name].append(speed)
    one_point = len({row.concurrency for row in rows}) == 1
    if not one_point or len(arms) < 2 or any(len(speeds) < 2 for speeds in arms.values()):
        return {}
    means = {name: fmean(speeds) for name, speeds in arms.items()}
    spread: _Found = {name: stdev(speeds) / means[name] for name, speeds in arms.items()}
    first, *_, last = means.values()
    return {"mean": {**means}, "cv": spread, "difference": last / first - 1}


def _steps(rows: Sequence[ResultRow]) -> _Found:
    """Give the best number of steps at each concurrency; ties within 1 % go to fewer steps."""
    table: dict[int, dict[int, float]] = defaultdict(dict)
    for row in rows:
        steps, speed = row.context.get("spec_num_steps"), row.value("output_tps")
        if isinstance(steps, int) and speed and speed > 0 and row.concurrency is not None:
            table[row.concurrency][steps] = speed
    if not table or all(len(speeds) < 2 for speeds in table.values()):
        return {}
    best = {
        concurrency: min(s for s, speed in speeds.items() if speed >= 0.99 * max(speeds.values()))
        for concurrency, speeds in sorted(table.items())
    }
    found: _Found = {"best_steps_by_concurrency": {str(key): value for key, value in best.items()}}
    off = [concurrency for concurrency, steps in best.items() if steps == 0]
    if off and len(off) < len(best):
        found["crossover_off_wins_from"] = off[0]
    low = min(table)
    base = table[low].get(0)
    if base:
        gains = {str(steps): speed / base for steps, speed in table[low].items() if steps}
        found[f"speedup_at_{low}"] = {**gains}
    return found
