"""JSON of servebench: run.json with one entry a level. Seconds, but for names that end in _ms."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite, json_number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, items, mapping, text_or_none
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "servebench"
_SCALARS = {
    "completed": ("completed", "requests"),
    "failed": ("failed", "requests"),
    "duration": ("duration_s", "s"),
    "request_throughput": ("requests_per_s", "req/s"),
    "output_throughput": ("output_tps", "tok/s"),
    "input_throughput": ("input_tps", "tok/s"),
    "goodput": ("goodput_rps", "req/s"),
    "output_tokens_mean": ("output_len_mean", "tokens"),
}
_TIMES = {
    "ttft": "ttft",
    "tpot": "tpot",
    "itl": "itl",
    "e2e": "e2e",
    "answer_start": "ttft_answer",
}
_CONFIG = {
    "model": "model",
    "endpoint": "backend",
    "prompts": "dataset",
    "input_len": "input_len",
    "output_len": "output_len",
    "num_requests": "num_prompts",
    "warmup": "warmup_requests",
    "seed": "seed",
    "ignore_eos": "ignore_eos",
    "temperature": "temperature",
    "arrival_dist": "arrival",
    "shared_prefix_tokens": "shared_prefix_tokens",
    "preset": "preset",
}


def claims(found: Object) -> bool:
    return isinstance(found.get("levels"), list) and (
        "servebench_version" in mapping(found, "environment")
    )


def read(found: Object, place: Place) -> list[ResultRow]:
    version = text_or_none(mapping(found, "environment").get("servebench_version"))
    rows = []
    for level in items(found.get("levels")):
        if isinstance(level, dict):
            rows.append(_row(level, place, version, text_or_none(found.get("label"))))
    return rows


def _row(level: Object, place: Place, version: str | None, label: str | None) -> ResultRow:
    builder = RowBuilder(TOOL, place, tool_version=version, name=label)
    value = finite(level.get("value"))
    if level.get("mode") == "concurrency":
        builder.concurrency = count(value)
    else:
        builder.tell(request_rate=value)
    for name, told in mapping(level, "summary").items():
        if name in _TIMES:
            put_stats(builder, _TIMES[name], mapping(told), name, "s")
        elif name in _SCALARS:
            builder.put(_SCALARS[name][0], told, name, _SCALARS[name][1])
        elif isinstance(told, dict) and "count" in told:
            keep_stats(builder, name, told)
        else:
            builder.keep(name, told)
    builder.keep("client_lag_p99_ms", level.get("client_lag_p99_ms"))
    return builder.done()


def settings(found: Object) -> dict[str, JSON]:
    config, around = mapping(found, "config"), mapping(found, "environment")
    given: dict[str, JSON] = {word: clean(config.get(name)) for name, word in _CONFIG.items()}
    given["temperature"] = json_number(config.get("temperature"))
    given["engine"] = text_or_none(around.get("engine"))
    given["engine_version"] = text_or_none(around.get("engine_version"))
    given["notes"] = text_or_none(around.get("notes"))
    return {key: value for key, value in given.items() if value is not None}


FORMAT = JsonTool(TOOL, marks("schema_version", "levels"), claims, read, settings)
