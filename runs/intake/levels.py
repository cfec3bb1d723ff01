"""A result row as the columns of a level, and everything it said beside them."""

from runs.engines.base import JSON
from runs.intake.numbers import whole
from runs.intake.plan import PlannedLevel
from runs.intake.windows import client_accept_len
from runs.readers.results.base import ResultRow

# Of a row's context these are the same for the whole arm, or too long to keep at every level.
_NOT_KEPT = ("server_args", "defaults", "launch_flags")


def level_columns(level: PlannedLevel) -> dict[str, JSON]:
    """Give the columns by name: seconds, tokens, tokens per second. Unknown is None."""
    row, window = level.row, level.window
    completed, failed = _count(row, "completed"), _count(row, "failed")
    asked = _count(row, "requests") or whole(row.context.get("num_prompts"))
    if asked is None and completed is not None:
        asked = completed + (failed or 0)
    return {
        "concurrency": row.concurrency,
        "requests": asked,
        "done": completed or 0,
        "failed": failed or 0,
        "started": window.start if window else None,
        "ended": window.stop if window else None,
        "output_tokens": whole(row.value("output_tokens"), 2**53),
        "cached_tokens": whole(row.value("cached_tokens"), 2**53),
        "output_tps": row.value("output_tps"),
        "user_tps": _first(row, "user_tps", "user_tps_mean", "user_tps_p50"),
        "ttft_s": _first(row, "ttft_p50", "ttft"),
        "tpot_s": _first(row, "tpot_p50", "tpot"),
        "accept_len": level.accept_len,
        "running_mean": level.running,
        "waiting_mean": level.waiting,
        "summary": summary(level),
    }


def summary(level: PlannedLevel) -> dict[str, JSON]:
    """Keep every metric with the tool's name and formula, and the earlier attempts."""
    told = row_summary(level.row)
    if level.earlier:
        told["attempts"] = [row_summary(row) for row in level.earlier]
    if level.window is not None:
        told["log_lines"] = [level.window.begin, min(level.window.end, 2**53)]
        told["accept_len_by_log"] = client_accept_len(level.row, level.window) is None
    itl = level.row.value("itl_p50")
    return told | ({"itl": {"p50": itl}} if itl is not None else {})


def row_summary(row: ResultRow) -> dict[str, JSON]:
    """Give one row whole: value, unit as written, the tool's name and formula of each metric."""
    metrics: dict[str, JSON] = {
        name: {
            "value": metric.value,
            "native_name": metric.native_name,
            "native_unit": metric.native_unit,
            "formula": metric.formula,
        }
        for name, metric in row.metrics.items()
    }
    told: dict[str, JSON] = {
        "tool": row.tool,
        "tool_version": row.tool_version,
        "name": row.name,
        "concurrency": row.concurrency,
        "concurrency_measured": row.concurrency_measured,
        "metrics": metrics,
        "other": row.other,
        "settings": {k: v for k, v in row.context.items() if k not in _NOT_KEPT},
        "line": row.line,
    }
    return {key: value for key, value in told.items() if value not in (None, {}, [])}


def _count(row: ResultRow, key: str) -> int | None:
    return whole(row.value(key))


def _first(row: ResultRow, *keys: str) -> float | None:
    return next((row.value(key) for key in keys if row.value(key) is not None), None)
