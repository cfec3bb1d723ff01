"""JSON of GuideLLM: one report with several benchmarks.

Its inter-token latency is what all others call TPOT (one value a request); its time per output
token includes the first token and is another quantity.
"""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite, json_number, number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, clean_text, items, mapping, text_or_none
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "guidellm"
_TIMES = {
    "time_to_first_token_ms": ("ttft", "ms"),
    "time_to_first_output_token_ms": ("ttft_answer", "ms"),
    "inter_token_latency_ms": ("tpot", "ms"),
    "time_per_output_token_ms": ("tpot_incl_first", "ms"),
    "request_latency": ("e2e", "s"),
    "prompt_token_count": ("input_len", "tokens"),
    "output_token_count": ("output_len", "tokens"),
}
_RATES = {
    "output_tokens_per_second": ("output_tps", "tok/s"),
    "prompt_tokens_per_second": ("input_tps", "tok/s"),
    "tokens_per_second": ("total_tps", "tok/s"),
    "requests_per_second": ("requests_per_s", "req/s"),
}
_SUMS = {"prompt_token_count": "input_tokens", "output_token_count": "output_tokens"}
_TOTALS = {"successful": "completed", "errored": "failed", "total": "requests"}


def claims(found: Object) -> bool:
    return isinstance(found.get("benchmarks"), list) and (
        "guidellm_version" in mapping(found, "metadata") or _has_metrics(found)
    )


def _has_metrics(found: Object) -> bool:
    first = mapping((items(found.get("benchmarks")) or [None])[0])
    return "time_to_first_token_ms" in mapping(first, "metrics")


def read(found: Object, place: Place) -> list[ResultRow]:
    version = text_or_none(mapping(found, "metadata").get("guidellm_version"))
    rows = []
    for each in items(found.get("benchmarks")):
        if isinstance(each, dict):
            rows.append(_row(each, place, version))
    return rows


def _row(benchmark: Object, place: Place, version: str | None) -> ResultRow:
    builder = RowBuilder(TOOL, place, tool_version=version)
    strategy = mapping(benchmark, "config", "strategy") or mapping(benchmark, "args", "strategy")
    kind = text_or_none(strategy.get("type_"))
    builder.concurrency = 1 if kind == "synchronous" else count(strategy.get("streams"))
    builder.tell(
        strategy=kind,
        request_rate=finite(strategy.get("rate")),
        warmup_duration_s=finite(benchmark.get("warmup_duration")),
        cooldown_duration_s=finite(benchmark.get("cooldown_duration")),
        warnings=[clean(mapping(each).get("message")) for each in items(benchmark.get("warnings"))]
        or None,
    )
    builder.put("duration_s", benchmark.get("duration"), "duration", "s")
    metrics = mapping(benchmark, "metrics")
    for word, key in _TOTALS.items():
        value = mapping(metrics, "request_totals").get(word)
        builder.put(key, value, f"request_totals.{word}", "requests")
    builder.keep("request_totals.incomplete", mapping(metrics, "request_totals").get("incomplete"))
    for name, value in metrics.items():
        _put(builder, name, mapping(value, "successful"))
    return builder.done()


def put_strategy(builder: RowBuilder, cell: str) -> None:
    """'concurrent@4' asks for four streams, 'constant@2.50' for so many requests a second."""
    kind, _, value = cell.partition("@")
    builder.tell(strategy=clean_text(kind, 60))
    if kind in ("synchronous", "concurrent"):
        builder.concurrency = 1 if kind == "synchronous" else count(value)
    else:
        builder.tell(request_rate=number(value))


def _put(builder: RowBuilder, name: str, stats: Object) -> None:
    if name in _TIMES:
        family, unit = _TIMES[name]
        put_stats(builder, family, stats, name, unit)
        if name in _SUMS:
            builder.put(_SUMS[name], stats.get("total_sum"), f"{name}.total_sum", "tokens")
    elif name in _RATES:
        key, unit = _RATES[name]
        builder.put(key, stats.get("mean"), f"{name}.mean", unit)
    elif name == "request_concurrency":
        builder.concurrency_measured = finite(stats.get("mean"))
    else:
        keep_stats(builder, name, stats)


def settings(found: Object) -> dict[str, JSON]:
    spec = mapping(found, "config", "spec")
    data = mapping((items(spec.get("data")) or [None])[0])
    given: dict[str, JSON] = {
        "model": text_or_none(mapping(spec, "backend").get("model")),
        "dataset": text_or_none(data.get("kind")),
        "input_len": _whole(data.get("prompt_tokens")),
        "output_len": _whole(data.get("output_tokens")),
        "seed": _whole(mapping(spec, "seed").get("value")),
        "labels": clean(mapping(found, "config", "metadata").get("labels")),
        "extras": clean(mapping(spec, "backend").get("extras")),
    }
    return {key: value for key, value in given.items() if value is not None}


def _whole(value: JSON) -> int | None:
    real = json_number(value)
    return None if real is None else int(real)


FORMAT = JsonTool(TOOL, marks("guidellm_version"), claims, read, settings)
