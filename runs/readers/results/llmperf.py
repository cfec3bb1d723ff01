"""JSON summary of llmperf. Its inter-token latency counts the first token in: no TPOT."""

import re

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.names import stat
from runs.readers.results.numbers import count, json_number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, text_or_none

TOOL = "llmperf"
_STAT = re.compile(r"results_([a-z_]{1,60}?)_(quantiles_p[0-9]{1,2}|mean|min|max|stddev)\Z")
FAMILIES = {
    "ttft_s": ("ttft", "s"),
    "inter_token_latency_s": ("tpot_incl_first", "s"),
    "end_to_end_latency_s": ("e2e", "s"),
    "request_output_throughput_token_per_s": ("user_tps", "tok/s"),
    "number_input_tokens": ("input_len", "tokens"),
    "number_output_tokens": ("output_len", "tokens"),
}
_SCALARS = {
    "results_mean_output_throughput_token_per_s": ("output_tps", "tok/s"),
    "results_num_completed_requests_per_min": ("requests_per_s", "req/min"),
    "results_num_completed_requests": ("completed", "requests"),
    "results_number_errors": ("failed", "requests"),
    "results_num_requests_started": ("requests", "requests"),
}
_SETTINGS = {
    "model": "model",
    "mean_input_tokens": "input_len",
    "mean_output_tokens": "output_len",
    "stddev_input_tokens": "input_len_std",
    "stddev_output_tokens": "output_len_std",
    "additional_sampling_params": "sampling",
    "num_concurrent_requests": "",
    "name": "",
    "version": "",
}


def claims(found: Object) -> bool:
    return any(each.startswith("results_ttft_s_") for each in found) or (
        "num_concurrent_requests" in found and "results_num_completed_requests" in found
    )


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place, name=text_or_none(found.get("name")))
    builder.concurrency = count(found.get("num_concurrent_requests"))
    for name, value in found.items():
        match = None if name in _SCALARS else _STAT.match(name)
        if match and match[1] in FAMILIES:
            family, unit = FAMILIES[match[1]]
            builder.put(f"{family}_{stat(match[2])}", value, name, unit)
        elif name in _SCALARS:
            builder.put(_SCALARS[name][0], value, name, _SCALARS[name][1])
        elif name not in _SETTINGS:
            builder.keep(name, value)
    builder.context |= settings(found)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    given: dict[str, JSON] = {word: clean(found.get(n)) for n, word in _SETTINGS.items() if word}
    for word in ("input_len", "output_len"):
        real = json_number(given[word])
        given[word] = None if real is None else int(real)
    return {key: value for key, value in given.items() if value not in (None, {}, "")}


FORMAT = JsonTool(
    TOOL, marks("num_concurrent_requests", "mean_input_tokens"), claims, read, settings
)
