"""A row in the words of the exchange form: latencies in ms, throughput in tokens/s."""

import math

from runs.engines.base import JSON
from runs.readers.results.base import Metric, ResultRow
from runs.readers.results.names import family

_TIMES = ("ttft", "ttft_answer", "tpot", "tpot_incl_first", "itl", "e2e")
_NAMES = {
    "output_tps": "output_tok_per_s",
    "input_tps": "input_tok_per_s",
    "total_tps": "total_tok_per_s",
    "gpu_tps": "tok_per_s_per_gpu",
    "output_gpu_tps": "output_tok_per_s_per_gpu",
    "input_gpu_tps": "input_tok_per_s_per_gpu",
    "total_gpu_tps": "total_tok_per_s_per_gpu",
    "peak_output_tps": "peak_output_tok_per_s",
    "requests_per_s": "req_per_s",
    "accept_len_cumulative": "accept_len",
    "goodput_rps": "goodput_req_per_s",
}
_COUNTS = (
    *("completed", "failed", "requests", "input_tokens", "output_tokens", "cached_tokens"),
    *("output_tokens_retokenized", "drafts", "drafted_tokens", "accepted_tokens", "peak_running"),
)
_CONTEXT = (
    *("tag", "label", "source", "spec_num_steps", "status", "lora_names", "variant", "attempt"),
    *("latest", "input_len", "output_len"),
)
# These call their TPOT an inter-token latency.
_ITL_IS_TPOT = ("aiperf", "guidellm")


def field_case_row(row: ResultRow) -> dict[str, JSON]:
    """Render a row. `metrics` holds the same in base units, with native names and formulas.

    AIPerf's and GuideLLM's inter-token latency appears both as what it is (`tpot_ms_…`) and under
    the tool's word (`itl_ms_…`); AIPerf's gap between chunks is `icl_ms_…` then.
    """
    found: dict[str, JSON] = {"tool": row.tool, "concurrency": row.concurrency}
    if row.tool_version is not None:
        found["tool_version"] = row.tool_version
    if row.name is not None:
        found["arm"] = row.name
    if row.concurrency_measured is not None:
        found["concurrency_measured"] = row.concurrency_measured
    for key, metric in row.metrics.items():
        found |= _fields(row.tool, key, metric)
    found |= _positions(row)
    found |= {key: row.context[key] for key in _CONTEXT if key in row.context}
    rate = row.context.get("request_rate")
    if isinstance(rate, int | float) and math.isfinite(rate):
        found["request_rate"] = rate
    if row.context.get("status") not in (None, "ok") and not row.metrics:
        found["output_tok_per_s"] = None
    found["metrics"] = {key: _metric(each) for key, each in row.metrics.items()}
    found["other"] = row.other
    found["settings"] = row.context
    found |= {"offset": row.offset, "line": row.line}
    return found


def _fields(tool: str, key: str, metric: Metric) -> dict[str, JSON]:
    kind, statistic = family(key), key[len(family(key)) :]
    value = metric.value
    if kind in _TIMES:
        return {name: _ms(value) for name in _time_names(tool, kind, statistic)}
    if kind == "user_tps":
        rest = "" if statistic in ("", "_mean") else statistic
        return {f"output_tok_per_s_per_user{rest}": value}
    if kind in ("input_len", "output_len"):
        rest = "" if statistic == "_mean" else statistic
        return {f"{kind}{rest}": _whole(value)}
    if key in _COUNTS:
        return {key: _whole(value)}
    if metric.native_unit == "req/min" and value is not None:
        value = round(value, 4)  # the sixtieth of a number with two decimals
    return {_NAMES.get(key, key): value}


def _time_names(tool: str, kind: str, statistic: str) -> list[str]:
    if tool in _ITL_IS_TPOT:
        if kind == "tpot":
            return [f"tpot_ms{statistic}", f"itl_ms{statistic}"]
        if kind == "itl":
            return [f"icl_ms{statistic}"]
    return [f"{kind}_ms{statistic}"]


def _positions(row: ResultRow) -> dict[str, JSON]:
    shares: list[JSON] = []
    while (metric := row.metrics.get(f"accept_at_{len(shares)}")) is not None:
        shares.append(metric.value)
    return {"per_position": shares} if shares else {}


def _metric(metric: Metric) -> dict[str, JSON]:
    return {
        "value": metric.value,
        "native_name": metric.native_name,
        "native_unit": metric.native_unit,
        "converted": metric.converted,
        "formula": metric.formula,
    }


def _ms(value: float | None) -> float | None:
    return None if value is None else float(f"{value * 1000:.12g}")


def _whole(value: float | None) -> JSON:
    if value is None or value != int(value):
        return value
    return int(value)
