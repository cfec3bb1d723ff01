"""JSONL of sglang.bench_one_batch_server: a real server, one static batch."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, json_number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import text_or_none

TOOL = "sglang.bench_one_batch_server"
_SCALARS = {
    "latency": ("duration_s", "s"),
    "input_throughput": ("input_tps", "tok/s"),
    "output_throughput": ("output_tps", "tok/s"),
    "overall_throughput": ("total_tps", "tok/s"),
    "acc_length": ("accept_len_cumulative", "tokens"),
    "cache_hit_rate": ("cache_hit_rate", "fraction"),
    "total_output_tokens": ("output_tokens", "tokens"),
}
_SETTINGS = ("run_name", "batch_size", "input_len", "output_len")


def claims(found: Object) -> bool:
    return "batch_size" in found and "last_gen_throughput" in found


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place, name=text_or_none(found.get("run_name")))
    builder.concurrency = count(found.get("batch_size"))
    for name, value in found.items():
        if name in _SCALARS:
            real = None if value == -1 else value  # how this tool writes that there is none
            builder.put(_SCALARS[name][0], real, name, _SCALARS[name][1])
        elif name not in _SETTINGS:
            builder.keep(name, value)
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    given: dict[str, JSON] = {}
    for word in ("input_len", "output_len"):
        real = json_number(found.get(word))
        if real is not None:
            given[word] = int(real)
    return given


FORMAT = JsonTool(TOOL, marks("batch_size", "last_gen_throughput"), claims, read, settings)
