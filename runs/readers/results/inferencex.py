"""Aggregates of InferenceX (agg_*.json): seconds without a unit in the name, tok/s per GPU.

`median_intvty` is 1 / TPOT at the same percentile, so its p99 is the slow tail.
"""

import re

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.names import stat
from runs.readers.results.numbers import count
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean

TOOL = "inferencex"
_TIMED = re.compile(r"(mean|median|std|p[0-9.]{1,5})_(ttft|tpot|itl|e2el|intvty)\Z")
_FAMILIES = {"e2el": "e2e", "intvty": "user_tps"}
_SETTINGS = {
    "hw": "gpu",
    "model": "model",
    "image": "image",
    "framework": "engine",
    "precision": "precision",
    "spec_decoding": "spec_algorithm",
    "isl": "input_len",
    "osl": "output_len",
    "tp": "tp",
    "ep": "ep",
    "dp_attention": "dp_attention",
    "disagg": "disagg",
}


def claims(found: Object) -> bool:
    return "tput_per_gpu" in found and "conc" in found


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    builder.concurrency = count(found.get("conc"))
    for name, value in found.items():
        timed = _TIMED.match(name)
        if timed:
            family = _FAMILIES.get(timed[2], timed[2])
            unit = "tok/s" if family == "user_tps" else "s"
            builder.put(f"{family}_{stat(timed[1])}", value, name, unit)
        elif name not in _SETTINGS and name != "conc":
            builder.keep(name, value)
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    given = {word: clean(found.get(name)) for name, word in _SETTINGS.items()}
    return {key: value for key, value in given.items() if value not in (None, "")}


FORMAT = JsonTool(TOOL, marks("tput_per_gpu", "conc"), claims, read, settings)
