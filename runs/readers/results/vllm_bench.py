"""JSON of `vllm bench serve` (also appended line by line) and the rows of `sweep serve`."""

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.client import settings_of
from runs.readers.results.flat import put_flat
from runs.readers.results.jsondoc import JsonTool, Object, marks
from runs.readers.results.numbers import count, json_number
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean, items, text_or_none

TOOL = "vllm.bench_serve"
_SCALARS = {
    "duration": ("duration_s", "s"),
    "completed": ("completed", "requests"),
    "failed": ("failed", "requests"),
    "total_input_tokens": ("input_tokens", "tokens"),
    "total_output_tokens": ("output_tokens", "tokens"),
    "request_throughput": ("requests_per_s", "req/s"),
    "request_goodput": ("goodput_rps", "req/s"),
    "request_goodput:": ("goodput_rps", "req/s"),
    "output_throughput": ("output_tps", "tok/s"),
    "total_token_throughput": ("total_tps", "tok/s"),
    "max_output_tokens_per_s": ("peak_output_tps", "tok/s"),
    "max_concurrent_requests": ("peak_running", "requests"),
    "spec_decode_acceptance_rate": ("accept_rate", "%"),
    "spec_decode_acceptance_length": ("accept_len", "tokens"),
    "spec_decode_num_drafts": ("drafts", "requests"),
    "spec_decode_draft_tokens": ("drafted_tokens", "tokens"),
    "spec_decode_accepted_tokens": ("accepted_tokens", "tokens"),
}
_SETTINGS = {
    "date": "date",
    "endpoint_type": "",
    "backend": "backend",
    "label": "label",
    "model_id": "model",
    "tokenizer_id": "",
    "num_prompts": "num_prompts",
    "request_rate": "request_rate",
    "burstiness": "burstiness",
    "max_concurrency": "",
    "spec_decode_per_position_acceptance_rates": "",
    "run_number": "repeat",
    "_benchmark_name": "benchmark_name",
}


def claims(found: Object) -> bool:
    named = "endpoint_type" in found or "model_id" in found
    return named and "total_output_tokens" in found and "duration" in found


def read(found: Object, place: Place) -> list[ResultRow]:
    builder = RowBuilder(TOOL, place)
    builder.name = text_or_none(found.get("label")) or text_or_none(found.get("_benchmark_name"))
    builder.concurrency = count(found.get("max_concurrency"))
    put_flat(builder, found, _SCALARS, _SETTINGS)
    positions = items(found.get("spec_decode_per_position_acceptance_rates"))
    for index, share in enumerate(positions[:64]):
        native = f"spec_decode_per_position_acceptance_rates[{index}]"
        builder.put(f"accept_at_{index}", share, native, "fraction")
    builder.context |= settings(found)
    builder.tell(num_speculative_tokens=len(positions) or None)
    return [builder.done()]


def settings(found: Object) -> dict[str, JSON]:
    told: dict[str, JSON] = {word: found.get(name) for name, word in _SETTINGS.items() if word}
    rate = json_number(told.get("request_rate"))
    told["request_rate"] = clean(told.get("request_rate")) if rate is None else rate
    for word in ("num_prompts", "repeat"):
        whole = json_number(told.get(word))
        told[word] = None if whole is None else int(whole)
    # Overrides of a sweep stand beside the results under the client's own names.
    told |= {
        k: v
        for k, v in settings_of(found).items()
        if told.get(k) is None and k != "max_concurrency"
    }
    return {key: clean(value) for key, value in told.items() if value not in (None, "")}


FORMAT = JsonTool(TOOL, marks("model_id", "tokenizer_id", "duration"), claims, read, settings)
