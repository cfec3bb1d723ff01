"""JSON of genai-bench: one file a point, and the experiment's metadata.

Times are seconds unless `_time_unit` says otherwise. `error_rate` is wrong in 0.0.5 (always 0), so
failures come from the counts.
"""

import re

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.client import read_client
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, mapping
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "genai-bench"
_SCALARS = {
    "run_duration": ("duration_s", "s"),
    "mean_output_throughput_tokens_per_s": ("output_tps", "tok/s"),
    "mean_input_throughput_tokens_per_s": ("input_tps", "tok/s"),
    "mean_total_tokens_throughput_tokens_per_s": ("total_tps", "tok/s"),
    "requests_per_second": ("requests_per_s", "req/s"),
    "requests_per_minute": ("requests_per_s", "req/min"),
    "num_completed_requests": ("completed", "requests"),
    "num_error_requests": ("failed", "requests"),
    "num_requests": ("requests", "requests"),
}
_SETTINGS = ("scenario", "num_concurrency", "stats", "batch_size", "iteration_type")
_TIMES = {"ttft": "ttft", "tpot": "tpot", "e2e_latency": "e2e"}
_FIXED = re.compile(r"D\(([0-9]{1,9}),([0-9]{1,9})\)\Z")
_METADATA = {
    "api_model_name": "model",
    "api_backend": "backend",
    "task": "task",
    "server_engine": "engine",
    "server_version": "engine_version",
    "server_gpu_type": "gpu",
    "server_gpu_count": "gpu_count",
    "traffic_scenario": "scenario",
    "num_concurrency": "max_concurrency",
    "max_time_per_run_s": "max_time_per_run_s",
    "max_requests_per_run": "max_requests_per_run",
    "metrics_time_unit": "metrics_time_unit",
    "benchmark_version": "tool_version",
    "auth_config": "auth_config",
    "additional_request_params": "additional_request_params",
    "warmup_ratio": "warmup_ratio",
    "cooldown_ratio": "cooldown_ratio",
    "dataset_path": "dataset",
}


def claims(found: Object) -> bool:
    return isinstance(found.get("aggregated_metrics"), dict)


def read(found: Object, place: Place) -> list[ResultRow]:
    told = mapping(found, "aggregated_metrics")
    unit = "ms" if found.get("_time_unit") == "ms" else "s"
    builder = RowBuilder(TOOL, place)
    builder.concurrency = count(told.get("num_concurrency"))
    for name, value in told.items():
        if name in _SCALARS:
            builder.put(_SCALARS[name][0], value, name, _SCALARS[name][1])
        elif name not in _SETTINGS:
            builder.keep(name, value)
    for name, stats in mapping(told, "stats").items():
        _put(builder, name, mapping(stats), unit)
    builder.context |= settings(found)
    return [builder.done()]


def _put(builder: RowBuilder, name: str, stats: Object, unit: str) -> None:
    if name in _TIMES:
        put_stats(builder, _TIMES[name], stats, name, unit)
    elif name == "output_inference_speed":
        put_stats(builder, "user_tps", stats, name, "tok/s")
    elif name in ("num_input_tokens", "num_output_tokens"):
        put_stats(builder, f"{name.split('_')[1]}_len", stats, name, "tokens")
        builder.put(f"{name.split('_')[1]}_tokens", stats.get("sum"), f"{name}.sum", "tokens")
    else:
        keep_stats(builder, name, stats)


def settings(found: Object) -> dict[str, JSON]:
    told = mapping(found, "aggregated_metrics")
    scenario = told.get("scenario")
    lengths = _FIXED.match(scenario) if isinstance(scenario, str) else None
    given: dict[str, JSON] = {
        "scenario": clean(scenario),
        "batch_size": clean(told.get("batch_size")),
        "input_len": int(lengths[1]) if lengths else None,
        "output_len": int(lengths[2]) if lengths else None,
    }
    return {key: value for key, value in given.items() if value is not None}


def claims_metadata(found: Object) -> bool:
    return "benchmark_version" in found and ("api_backend" in found or "traffic_scenario" in found)


def read_metadata(found: Object, place: Place) -> list[ResultRow]:
    """The metadata has settings only; its `cmd` holds the key in clear, so it is not kept."""
    return []


def metadata_settings(found: Object) -> dict[str, JSON]:
    command = found.get("cmd")
    client = read_client(f"genai-bench benchmark {command}") if isinstance(command, str) else None
    given: dict[str, JSON] = {"tool": TOOL, **(client.settings if client else {})}
    for name, word in _METADATA.items():
        if found.get(name) not in (None, "None", [], {}):
            given[word] = clean(found.get(name))
    return given


FORMAT = JsonTool(TOOL, marks("aggregated_metrics"), claims, read, settings)
METADATA = JsonTool(
    TOOL,
    marks("benchmark_version", "api_backend"),
    claims_metadata,
    read_metadata,
    metadata_settings,
)
