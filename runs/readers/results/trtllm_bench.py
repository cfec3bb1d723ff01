"""JSON report of trtllm-bench (`--report_json`). Milliseconds where the name ends in _ms."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import finite
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, mapping, text_or_none
from runs.readers.results.stats import put_stats

TOOL = "trtllm-bench"
_SCALARS = {
    "total_latency_ms": ("duration_s", "ms"),
    "avg_request_latency_ms": ("e2e_mean", "ms"),
    "request_throughput_req_s": ("requests_per_s", "req/s"),
    "system_output_throughput_tok_s": ("output_tps", "tok/s"),
    "system_total_throughput_tok_s": ("total_tps", "tok/s"),
    "output_throughput_per_user_tok_s": ("user_tps_mean", "tok/s"),
    "avg_ttft_ms": ("ttft_mean", "ms"),
    "avg_tpot_ms": ("tpot_mean", "ms"),
    "num_requests": ("completed", "requests"),
    "avg_input_length": ("input_len_mean", "tokens"),
    "avg_output_length": ("output_len_mean", "tokens"),
}
_STATS = {
    "request_latency_percentiles_ms": ("e2e", "ms"),
    "ttft_percentiles": ("ttft", "ms"),
    "tpot_percentiles": ("tpot", "ms"),
    "acceptance_length_percentiles": ("accept_len", "tokens"),
    "draft_acceptance_rate_percentiles": ("accept_rate", "fraction"),
}
_SECTIONS = ("request_info", "performance", "streaming_metrics", "decoding_stats")


def claims(found: Object) -> bool:
    told = mapping(found, "performance")
    return "system_output_throughput_tok_s" in told or (
        "world_info" in found and "total_latency_ms" in told
    )


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    builder.tool_version = text_or_none(mapping(found, "engine").get("version"))
    for section in _SECTIONS:
        for name, value in mapping(found, section).items():
            _put(builder, name, value)
    # The mean over requests is what other tools print as the run's accept len and rate.
    for key in ("accept_len", "accept_rate"):
        if f"{key}_mean" in builder.metrics:
            builder.metrics[key] = builder.metrics.pop(f"{key}_mean")
    builder.context |= settings(found)
    return [builder.done()]


def _put(builder: RowBuilder, name: str, value: JSON) -> None:
    if name == "avg_num_concurrent_requests":
        builder.concurrency_measured = finite(value)
    elif name in _SCALARS:
        builder.put(_SCALARS[name][0], value, name, _SCALARS[name][1])
    elif name in _STATS and isinstance(value, dict):
        put_stats(builder, _STATS[name][0], value, name, _STATS[name][1])
    else:
        builder.keep(name, value)


def settings(found: Object) -> dict[str, JSON]:
    engine, world = mapping(found, "engine"), mapping(found, "world_info")
    given: dict[str, JSON] = {
        "model": text_or_none(engine.get("model")),
        "backend": text_or_none(engine.get("backend")),
        "engine_version": text_or_none(engine.get("version")),
        "kv_cache_dtype": text_or_none(engine.get("kv_cache_dtype")),
        "quantization": text_or_none(engine.get("quantization")),
        "tp": clean(world.get("tp_size")),
        "pp": clean(world.get("pp_size")),
        "ep": clean(world.get("ep_size")),
        "max_batch_size": clean(world.get("max_batch_size")),
        "max_num_tokens": clean(world.get("max_num_tokens")),
        "issue_rate": clean(world.get("issue_rate")),
    }
    return {key: value for key, value in given.items() if value is not None}


FORMAT = JsonTool(TOOL, marks("performance", "world_info"), claims, read, settings)
