"""JSONL of sglang.bench_offline_throughput: all requests handed to the engine at once."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.block import OFFLINE
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import text_or_none

_SCALARS = {
    "successful_requests": ("completed", "requests"),
    "total_latency": ("duration_s", "s"),
    "total_input_tokens": ("input_tokens", "tokens"),
    "total_output_tokens": ("output_tokens", "tokens"),
    "request_throughput": ("requests_per_s", "req/s"),
    "input_throughput": ("input_tps", "tok/s"),
    "output_throughput": ("output_tps", "tok/s"),
    "total_throughput": ("total_tps", "tok/s"),
}


def claims(found: Object) -> bool:
    return "total_latency" in found and "last_gen_throughput" in found


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(OFFLINE, place)
    for name, value in found.items():
        if name in _SCALARS:
            builder.put(_SCALARS[name][0], value, name, _SCALARS[name][1])
        elif name != "backend":
            builder.keep(name, value)
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    backend = text_or_none(found.get("backend"))
    return {} if backend is None else {"backend": backend}


FORMAT = JsonTool(OFFLINE, marks("total_latency", "last_gen_throughput"), claims, read, settings)
