"""JSON of llm-d-benchmark's report, whichever tool made the load: each statistic has its unit."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import items, mapping, text_or_none
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "llm-d-benchmark"
_TIMES = {
    "request_latency": "e2e",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "normalized_time_per_output_token": "tpot_incl_first",
    "inter_token_latency": "itl",
}
_RATES = {
    "input_token_rate": ("input_tps", "tok/s"),
    "output_token_rate": ("output_tps", "tok/s"),
    "total_token_rate": ("total_tps", "tok/s"),
    "request_rate": ("requests_per_s", "req/s"),
}
_LENGTHS = {"input_length": "input_len", "output_length": "output_len"}
# 's/token' is a time as 's' is.
_UNITS = {"s": "s", "s/token": "s", "ms": "ms", "ms/token": "ms"}


def claims(found: Object) -> bool:
    return bool(_aggregate(found))


def _aggregate(found: Object) -> Object:
    return mapping(found, "results", "request_performance", "aggregate")


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    told, load = _aggregate(found), mapping(found, "scenario", "load", "standardized")
    builder.concurrency = count(load.get("concurrency"))
    requests = mapping(told, "requests")
    total, failed = count(requests.get("total")), count(requests.get("failures"))
    builder.put("requests", total, "requests.total", "requests")
    builder.put("failed", failed, "requests.failures", "requests")
    if total is not None and failed is not None:
        builder.put("completed", total - failed, "requests.total − failures", "requests")
    for name, family in _LENGTHS.items():
        put_stats(builder, family, mapping(requests, name), name, "tokens")
    for name, value in mapping(told, "latency").items():
        stats = mapping(value)
        unit = _UNITS.get(str(stats.get("units")))
        if name in _TIMES and unit:  # without a unit nobody knows what the figure is
            put_stats(builder, _TIMES[name], stats, name, unit)
        else:
            keep_stats(builder, name, stats)
    for name, value in mapping(told, "throughput").items():
        if name in _RATES:
            key, unit = _RATES[name]
            builder.put(key, mapping(value).get("mean"), f"{name}.mean", unit)
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    load = mapping(found, "scenario", "load", "standardized")
    engines = [
        mapping(each, "standardized")
        for each in items(mapping(found, "scenario").get("stack"))
        if mapping(each, "standardized").get("kind") == "inference_engine"
    ]
    engine = engines[0] if engines else {}
    given: dict[str, JSON] = {
        "harness": text_or_none(load.get("tool")),
        "request_rate": finite(load.get("rate_qps")),
        "input_len": count(mapping(load, "input_seq_len").get("value")),
        "output_len": count(mapping(load, "output_seq_len").get("value")),
        "model": text_or_none(mapping(engine, "model").get("name")),
        "engine": text_or_none(engine.get("tool")),
        "engine_version": text_or_none(engine.get("tool_version")),
        "gpu": text_or_none(mapping(engine, "accelerator").get("model")),
        "gpu_count": count(mapping(engine, "accelerator").get("count")),
    }
    return {key: value for key, value in given.items() if value is not None}


FORMAT = JsonTool(TOOL, marks("results", "request_performance"), claims, read, settings)
