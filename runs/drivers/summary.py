"""A tool's row to the figures of a level, under the names that the probe's summary has."""

from __future__ import annotations

from runs.drivers.load_records import LevelEnd
from runs.drivers.tool import ToolOutput, tool_output
from runs.engines.base import JSON
from runs.readers.results import Failure, ResultRow, read_results, read_text

_TIMES = ("ttft", "tpot", "itl", "e2e")
_STATS = ("mean", "p50", "p90", "p95", "p99")
# our summary's name: the reader's
_PLAIN = {
    "duration_s": "duration_s",
    "output_tokens": "output_tokens",
    "prompt_tokens": "input_tokens",
    "cached_tokens": "cached_tokens",
    "output_tps": "output_tps",
    "requests_per_s": "requests_per_s",
    "accept_len_cumulative": "accept_len_cumulative",
    "accept_len": "accept_len",
    "goodput_rps": "goodput_rps",
}
_WHOLE = ("output_tokens", "prompt_tokens", "cached_tokens")
LAST_LINES = 6


def summarise(end: LevelEnd, told: bytes) -> dict[str, JSON]:
    """Read the result file, else what was printed. Failed requests come from there, too.

    `problem` says why there are no figures; the exit status alone is never one.
    """
    output = tool_output(told, end.level)
    file_row, text_row, failures = _rows(output)
    row = file_row or text_row
    summary: dict[str, JSON] = {"exit": end.exit, "window_by": end.window_by}
    if row is None or not _measured(row):
        counted = _counted(text_row, failures)
        summary |= {"requests": None, "failed": counted, "output_tps": None}
        return {**summary, "problem": _problem(end, output, failures)}
    return {**summary, **_figures(row), **_counts(row, text_row, failures, output.requests)}


def _rows(output: ToolOutput) -> tuple[ResultRow | None, ResultRow | None, tuple[Failure, ...]]:
    """Give the last row of the file and of the text: a file may be appended to."""
    of_file = (read_results(output.result) or read_text(output.result)) if output.result else None
    of_text = read_text(output.printed)
    file_rows = of_file.rows if of_file else ()
    return _last(file_rows), _last(of_text.rows), of_text.failures


def _last(rows: tuple[ResultRow, ...]) -> ResultRow | None:
    return rows[-1] if rows else None


def _measured(row: ResultRow) -> bool:
    return any(row.value(key) is not None for key in ("output_tps", "completed", "duration_s"))


def _figures(row: ResultRow) -> dict[str, JSON]:
    found: dict[str, JSON] = {"tool": row.tool}
    formulas: dict[str, JSON] = {}
    for ours, theirs in _PLAIN.items():
        metric = row.metrics.get(theirs)
        if metric is not None and metric.value is not None:
            found[ours] = round(metric.value) if ours in _WHOLE else metric.value
            formulas[ours] = metric.formula
    for name in _TIMES:
        told = {stat: row.value(f"{name}_{stat}") for stat in _STATS}
        found[name] = {stat: value for stat, value in told.items() if value is not None}
        first = next((row.metrics[k] for k in row.metrics if k.startswith(f"{name}_")), None)
        if first is not None:
            formulas[name] = first.formula
    found["user_tps"], formulas["user_tps"] = _user_tps(row)
    return {**found, "formulas": formulas}


def _user_tps(row: ResultRow) -> tuple[dict[str, JSON], str]:
    """As the tool tells it; most tell none, and then the inverse of its TPOT stands for it."""
    told = row.metrics.get("user_tps_mean")
    if told is not None:
        return {"mean": told.value, "p50": row.value("user_tps_p50")}, told.formula
    mean, median = row.value("tpot_mean"), row.value("tpot_p50")
    return {"mean": 1 / mean if mean else None, "p50": 1 / median if median else None}, (
        "1 / TPOT: the tool tells no rate per user"
    )


def _counts(
    row: ResultRow, text: ResultRow | None, failures: tuple[Failure, ...], asked: int | None
) -> dict[str, JSON]:
    """Give the requests and how many failed: as told, else those that were not completed."""
    completed = row.value("completed")
    told = row.value("failed")
    if told is None and text is not None:
        told = text.value("failed")
    requests = row.value("requests") or asked
    if told is None and completed is not None and requests is not None:
        told = max(0.0, requests - completed)
    failed = _counted(None, failures) if told is None else int(told)
    if requests is None and completed is not None:
        requests = completed + (failed or 0)
    return {
        "requests": None if requests is None else int(requests),
        "completed": None if completed is None else int(completed),
        "failed": failed,
        "failures": list[JSON]([each.text for each in failures[:5]]),
    }


def _counted(row: ResultRow | None, failures: tuple[Failure, ...]) -> int | None:
    told = row.value("failed") if row is not None else None
    if told is not None:
        return int(told)
    return next((each.count for each in failures if each.count is not None), None)


def _problem(end: LevelEnd, output: ToolOutput, failures: tuple[Failure, ...]) -> str:
    """Say how the tool ended, and the words in which it said why."""
    lines = output.printed.decode("utf-8", "replace").replace("\r", "\n").splitlines()
    last = [line.strip() for line in lines if line.strip()][-LAST_LINES:]
    why = [each.text for each in failures] or last[-1:]
    return f"The tool {how_it_ended(end.exit)} and told no result" + (
        f": {'; '.join(why)[:600]}" if why else ", and it printed nothing."
    )


def how_it_ended(told: dict[str, JSON] | None) -> str:
    """Give the words for an exit record: "ended with exit status 3"."""
    told = told or {}
    if told.get("reason") == "cannot-start":
        return f"could not be started ({told.get('message')})"
    if told.get("reason") in ("stopped", "time-limit"):
        return "was stopped" if told["reason"] == "stopped" else "was stopped at its time limit"
    if told.get("signal") is not None:
        return f"was killed by signal {told['signal']}"
    code = told.get("code")
    return f"ended with exit status {code}" if code is not None else "ended, nobody knows how,"
