"""JSONL of sglang.bench_serving: one object a run, appended to the same file."""

import math

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.flat import put_flat
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, clean_text, items, mapping, text_or_none

TOOL = "sglang.bench_serving"
_SCALARS = {
    "duration": ("duration_s", "s"),
    "completed": ("completed", "requests"),
    "total_input_tokens": ("input_tokens", "tokens"),
    "total_output_tokens": ("output_tokens", "tokens"),
    "total_output_tokens_retokenized": ("output_tokens_retokenized", "tokens"),
    "request_throughput": ("requests_per_s", "req/s"),
    "request_goodput": ("goodput_rps", "req/s"),
    "input_throughput": ("input_tps", "tok/s"),
    "output_throughput": ("output_tps", "tok/s"),
    "total_throughput": ("total_tps", "tok/s"),
    "accept_length": ("accept_len_cumulative", "tokens"),
    "max_output_tokens_per_s": ("peak_output_tps", "tok/s"),
    "max_concurrent_requests": ("peak_running", "requests"),
}
_SETTINGS = {
    "backend": "backend",
    "dataset_name": "dataset",
    "random_input_len": "input_len",
    "random_output_len": "output_len",
    "random_range_ratio": "range_ratio",
    "sharegpt_output_len": "sharegpt_output_len",
    "request_rate": "request_rate",
    "tag": "tag",
    "max_concurrency": "",
    "concurrency": "",
    "server_info": "",
    "cache_report": "",
    "total_input_text_tokens": "",
}
# What of the server's arguments explains a result. All others stay in the raw file.
_SERVER = {
    "model_path": "model",
    "tp_size": "tp",
    "dp_size": "dp",
    "pp_size": "pp",
    "ep_size": "ep",
    "speculative_algorithm": "spec_algorithm",
    "speculative_num_steps": "spec_num_steps",
    "speculative_eagle_topk": "spec_topk",
    "speculative_num_draft_tokens": "spec_num_draft_tokens",
    "speculative_draft_model_path": "draft_model",
    "max_running_requests": "max_running_requests",
    "mem_fraction_static": "mem_fraction_static",
    "attention_backend": "attention_backend",
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "disable_cuda_graph": "disable_cuda_graph",
    "disable_radix_cache": "disable_radix_cache",
    "chunked_prefill_size": "chunked_prefill_size",
    "version": "engine_version",
}


# Of a record that somebody cut down to a few keys: these no other client writes.
_OWN = (
    *("accept_length", "input_throughput", "total_throughput", "mean_e2e_latency_ms"),
    *("median_e2e_latency_ms", "random_input_len", "sharegpt_output_len"),
)
_LATENCIES = ("_ttft_ms", "_tpot_ms", "_itl_ms")


def claims(found: Object) -> bool:
    if "output_throughput" not in found:
        return False
    if "random_range_ratio" in found or "total_output_tokens_retokenized" in found:
        return True
    named = str(found.get("backend")).startswith("sglang") or any(key in found for key in _OWN)
    return named and any(key.endswith(_LATENCIES) for key in found)


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    builder.name = text_or_none(found.get("tag"))
    builder.concurrency = count(found.get("max_concurrency"))
    builder.concurrency_measured = finite(found.get("concurrency"))
    put_flat(builder, found, _SCALARS, _SETTINGS)
    # A server without speculation reports none, and old ones 0 or 1 for it.
    if finite(found.get("accept_length")) == 0:
        builder.metrics.pop("accept_len_cumulative", None)
    _put_cache(builder, mapping(found, "cache_report"))
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    told: dict[str, JSON] = {
        word: clean(found.get(name)) for name, word in _SETTINGS.items() if word
    }
    told["request_rate"] = _rate(found.get("request_rate"))
    if not str(found.get("dataset_name")).startswith(("random", "image")):
        # Written with their defaults for every data set, and used by these only.
        for word in ("input_len", "output_len", "range_ratio"):
            told.pop(word, None)
    told |= server_settings(found.get("server_info"))
    return {key: value for key, value in told.items() if value is not None}


def server_settings(info: JSON) -> dict[str, JSON]:
    """Give the settings of a server's own dump; what the running server tells wins."""
    if not isinstance(info, dict):
        return {}
    states = [each for each in items(info.get("internal_states")) if isinstance(each, dict)]
    effective = states[0] if states else {}
    found: dict[str, JSON] = {}
    for name, word in _SERVER.items():
        value = effective.get(name) if effective.get(name) is not None else info.get(name)
        if value is not None and not isinstance(value, dict | list):
            found[word] = clean(value)
    mean = finite(effective.get("avg_spec_accept_length"))
    if mean is not None:
        found["server_avg_spec_accept_length"] = mean
    return found


def _rate(value: JSON) -> JSON:
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return clean_text(value) if isinstance(value, str) else finite(value)


def _put_cache(builder: RowBuilder, report: Object) -> None:
    builder.put("cached_tokens", report.get("total_cached_tokens"), "total_cached_tokens", "tokens")
    builder.put("cache_hit_rate", report.get("cache_hit_rate_pct"), "cache_hit_rate_pct", "%")
    if report:
        builder.keep("cache_report", report)


FORMAT = JsonTool(
    TOOL,
    marks("backend", "request_rate", "total_output_tokens", "output_throughput"),
    claims,
    read,
    settings,
)
