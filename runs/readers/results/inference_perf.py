"""JSON of inference-perf: the metrics of one stage, or the summary. Seconds everywhere."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import mapping
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "inference-perf"
_TIMES = {
    "request_latency": "e2e",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "normalized_time_per_output_token": "tpot_incl_first",
    "inter_token_latency": "itl",
}
_RATES = {
    "input_tokens_per_sec": ("input_tps", "tok/s"),
    "output_tokens_per_sec": ("output_tps", "tok/s"),
    "total_tokens_per_sec": ("total_tps", "tok/s"),
    "requests_per_sec": ("requests_per_s", "req/s"),
}


def claims(found: Object) -> bool:
    return "load_summary" in found and isinstance(found.get("successes"), dict)


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    load, good = mapping(found, "load_summary"), mapping(found, "successes")
    builder.concurrency = count(load.get("concurrency"))
    builder.put("duration_s", found.get("benchmark_time_seconds"), "benchmark_time_seconds", "s")
    builder.put("requests", load.get("count"), "load_summary.count", "requests")
    builder.put("completed", good.get("count"), "successes.count", "requests")
    builder.put("failed", mapping(found, "failures").get("count"), "failures.count", "requests")
    for name, value in mapping(good, "latency").items():
        if name in _TIMES:
            put_stats(builder, _TIMES[name], mapping(value), name, "s")
        else:
            keep_stats(builder, name, mapping(value))
    for name, value in mapping(good, "throughput").items():
        if name in _RATES:
            builder.put(_RATES[name][0], value, name, _RATES[name][1])
        else:
            builder.keep(name, value)
    _put_lengths(builder, good)
    for name in ("schedule_delay", "send_duration", "achieved_rate"):
        builder.keep(f"load_summary.{name}", load.get(name))
    builder.keep("failures", mapping(found, "failures").get("by_label"))
    builder.context |= settings(found)
    return [builder.done()]


def _put_lengths(builder: RowBuilder, good: Object) -> None:
    prompts = mapping(good, "prompt_tokens")
    put_stats(builder, "input_len", mapping(good, "prompt_len"), "prompt_len", "tokens")
    put_stats(builder, "output_len", mapping(good, "output_len"), "output_len", "tokens")
    builder.put("input_tokens", prompts.get("total"), "prompt_tokens.total", "tokens")
    builder.put("cached_tokens", prompts.get("cached"), "prompt_tokens.cached", "tokens")
    total = mapping(good, "output_tokens").get("total")
    builder.put("output_tokens", total, "output_tokens.total", "tokens")
    builder.keep("goodput_metrics", good.get("goodput_metrics"))


def settings(found: Object) -> dict[str, JSON]:
    rate = finite(mapping(found, "load_summary").get("requested_rate"))
    return {} if rate is None else {"request_rate": rate}


FORMAT = JsonTool(TOOL, marks("load_summary", "successes"), claims, read, settings)
