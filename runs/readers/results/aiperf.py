"""JSON of NVIDIA AIPerf (and GenAI-Perf): one object a metric, {'unit', 'avg', 'p50', …}.

Its inter-token latency leaves out the first token: what all others call TPOT. The gap between
chunks is its inter-chunk latency.
"""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.client import read_client
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, finite, json_number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, items, mapping, text_or_none
from runs.readers.results.stats import keep_stats, put_stats

TOOL = "aiperf"
TIMES = {
    "time_to_first_token": "ttft",
    "time_to_first_output_token": "ttft_answer",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}
FAMILIES = {
    "output_token_throughput_per_user": ("user_tps", "tok/s"),
    "output_sequence_length": ("output_len", "tokens"),
    "input_sequence_length": ("input_len", "tokens"),
}
SCALARS = {
    "request_throughput": ("requests_per_s", "req/s"),
    "output_token_throughput": ("output_tps", "tok/s"),
    "input_token_throughput": ("input_tps", "tok/s"),
    "total_token_throughput": ("total_tps", "tok/s"),
    "request_count": ("completed", "requests"),
    "error_request_count": ("failed", "requests"),
    "goodput": ("goodput_rps", "req/s"),
    "total_isl": ("input_tokens", "tokens"),
    "total_osl": ("output_tokens", "tokens"),
    "spec_decode_acceptance_length": ("accept_len", "tokens"),
}
UNITS = {"ms": "ms", "sec": "s", "s": "s", "us": "us", "ns": "ns", "min": "min"}


def claims(found: Object) -> bool:
    return "unit" in mapping(found, "request_latency") or (
        "aiperf_version" in found and "input_config" in found
    )


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    builder.tool_version = text_or_none(found.get("aiperf_version"))
    for name, value in found.items():
        if isinstance(value, dict) and "unit" in value:
            put_metric(builder, name, value, str(value["unit"]))
    given = settings(found)
    asked = given.pop("max_concurrency", None)
    builder.concurrency = count(asked) if not isinstance(asked, list) else None
    builder.context |= given
    if found.get("was_cancelled") is True:
        builder.tell(status="cancelled")
    return [builder.done()]


def put_metric(builder: RowBuilder, name: str, stats: Object, unit: str) -> None:
    """Put one metric by AIPerf's own name; a time in an unknown unit is kept as it is."""
    if name in TIMES and unit in UNITS:
        put_stats(builder, TIMES[name], stats, name, UNITS[unit])
    elif name == "benchmark_duration" and unit in UNITS:
        builder.put("duration_s", stats.get("avg"), name, UNITS[unit])
    elif name in FAMILIES:
        put_stats(builder, FAMILIES[name][0], stats, name, FAMILIES[name][1])
    elif name in SCALARS:
        builder.put(SCALARS[name][0], stats.get("avg"), name, SCALARS[name][1])
    elif name == "effective_concurrency":
        builder.concurrency_measured = finite(stats.get("avg"))
    else:
        keep_stats(builder, f"{name} ({unit})", stats)


def settings(found: Object) -> dict[str, JSON]:
    told = mapping(found, "input_config")
    command = mapping(found, "run_info").get("cli_command")
    client = read_client(command) if isinstance(command, str) else None
    given: dict[str, JSON] = dict(client.settings) if client else {}
    given |= _of_config(told)
    return {key: value for key, value in given.items() if value is not None}


def _of_config(told: Object) -> dict[str, JSON]:
    """Read the input configuration of both schemas: `loadgen` and, since 1.4, `phases`."""
    phases = [mapping(each) for each in items(told.get("phases"))]
    load = mapping(told, "loadgen") or next((p for p in phases if p.get("kind") == "profiling"), {})
    warmup = next((p for p in phases if p.get("kind") == "warmup"), {})
    prompts = mapping((items(told.get("datasets")) or [None])[0])
    names = items(mapping(told, "endpoint").get("model_names"))
    models = [mapping(each).get("name") for each in items(mapping(told, "models").get("items"))]
    seed = mapping(told, "input").get("random_seed", prompts.get("random_seed"))
    given: dict[str, JSON] = {
        "model": text_or_none((names or models or [None])[0]),
        "max_concurrency": clean(load.get("concurrency")),
        "num_prompts": _whole(load.get("request_count", load.get("requests"))),
        "request_rate": json_number(load.get("request_rate")),
        "warmup_requests": _whole(load.get("warmup_request_count", warmup.get("requests"))),
        "seed": _whole(seed),
        "dataset": text_or_none(prompts.get("type")),
    }
    given |= _extra(mapping(told, "input").get("extra"))
    given |= _extra(mapping(told, "endpoint").get("extra"))
    return {key: value for key, value in given.items() if value is not None}


def _extra(told: JSON) -> dict[str, JSON]:
    """Read extra request inputs, a list of pairs or an object."""
    pairs = {str(e[0]): e[1] for e in items(told) if isinstance(e, list) and len(e) == 2}
    told = {**pairs, **mapping(told)}
    known = ("temperature", "ignore_eos", "top_p", "top_k")
    return {name: clean(told[name]) for name in known if name in told}


def _whole(value: JSON) -> int | None:
    real = json_number(value)
    return None if real is None else int(real)


FORMAT = JsonTool(TOOL, marks("request_latency", "unit"), claims, read, settings)
