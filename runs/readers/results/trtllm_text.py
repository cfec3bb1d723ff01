"""The report that trtllm-bench prints: sections of 'label: value', then '[TPOT] P90 : value'."""

import re
from dataclasses import dataclass, field

from runs.engines.base import JSON, Damaged
from runs.readers.results.base import ResultRow
from runs.readers.results.block import LINE_LIMIT
from runs.readers.results.names import stat
from runs.readers.results.numbers import count, number
from runs.readers.results.rows import Place, RowBuilder, around, cut_short
from runs.readers.results.safe import clean_text
from runs.readers.results.trtllm_bench import TOOL

TITLE = re.compile(
    r"= (?:ENGINE DETAILS|PYTORCH BACKEND|WORLD \+ RUNTIME INFORMATION|REQUEST DETAILS|"
    r"PERFORMANCE OVERVIEW|DECODING STATISTICS|DATASET DETAILS|STATISTICS)\b"
)
_RULE = re.compile(r"=+\s*\Z")
_DASHES = re.compile(r"-- .{0,100}\Z")
_LINE = re.compile(r"\s{0,4}([A-Z\[][^:\t]{1,70}?)\s{0,40}:\s{1,60}(\S.*?)(\s*)\Z")
_STAT = re.compile(r"\[(TPOT|TTFT|Latency|GTPS|AL|DAR)\] (P[0-9.]{2,5}|MINIMUM|MAXIMUM|AVERAGE)\Z")
_FAMILIES = {
    "TPOT": ("tpot", "ms"),
    "TTFT": ("ttft", "ms"),
    "Latency": ("e2e", "ms"),
    "GTPS": ("user_tps", "tok/s"),
    "AL": ("accept_len", "tokens"),
    "DAR": ("accept_rate", "fraction"),
}
_SCALARS = {
    "Request Throughput (req/sec)": ("requests_per_s", "req/s"),
    "Total Output Throughput (tokens/sec)": ("output_tps", "tok/s"),
    "Total Token Throughput (tokens/sec)": ("total_tps", "tok/s"),
    "Per User Output Throughput [w/ ctx] (tps/user)": ("user_tps", "tok/s"),
    "Per GPU Output Throughput (tps/gpu)": ("output_gpu_tps", "tok/s"),
    "Total Latency (ms)": ("duration_s", "ms"),
    "Average request latency (ms)": ("e2e_mean", "ms"),
    "Average time-to-first-token [TTFT] (ms)": ("ttft_mean", "ms"),
    "Average time-per-output-token [TPOT] (ms)": ("tpot_mean", "ms"),
    "Number of requests": ("completed", "requests"),
    "Average Input Length (tokens)": ("input_len_mean", "tokens"),
    "Average Output Length (tokens)": ("output_len_mean", "tokens"),
}
_SETTINGS = {
    "Model": "model",
    "Backend": "backend",
    "TensorRT LLM Version": "engine_version",
    "TensorRT-LLM Version": "engine_version",
    "Dtype": "dtype",
    "KV Cache Dtype": "kv_cache_dtype",
    "Quantization": "quantization",
    "TP Size": "tp",
    "PP Size": "pp",
    "EP Size": "ep",
    "Max Runtime Batch Size": "max_batch_size",
    "Max Runtime Tokens": "max_num_tokens",
    "Issue Rate (req/sec)": "issue_rate",
    "Number of Sequences": "num_prompts",
}


@dataclass(slots=True)
class TrtllmReport:
    """An open report; it ends at the first line that is none of it."""

    place: Place
    pairs: list[tuple[str, str]] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        if len(text) > LINE_LIMIT:
            return False
        text = text.rstrip("\r\n")
        if not text.strip() or _RULE.match(text) or TITLE.match(text) or _DASHES.match(text):
            return True
        match = _LINE.match(text)
        if match is None:
            return False
        if not terminated and not match[3]:
            self.damaged.append(cut_short(text, place))
        else:
            self.pairs.append((match[1].strip(), match[2]))
        return True

    def row(self, settings: dict[str, JSON]) -> ResultRow | None:
        """Make the row, None when the report was cut before any figure."""
        builder = RowBuilder(TOOL, self.place)
        builder.context = around(settings)
        builder.concurrency = count(settings.get("max_concurrency"))
        for label, text in self.pairs:
            _put(builder, label, text)
        for key in ("accept_len", "accept_rate"):
            if f"{key}_mean" in builder.metrics:
                builder.metrics[key] = builder.metrics.pop(f"{key}_mean")
        return builder.done() if builder.metrics else None


_WORDS = {"MINIMUM": "min", "MAXIMUM": "max", "AVERAGE": "mean"}


def _put(builder: RowBuilder, label: str, text: str) -> None:
    real, timed = number(text), _STAT.match(label)
    if timed:
        family, unit = _FAMILIES[timed[1]]
        key = _WORDS.get(timed[2]) or stat(timed[2])
        builder.put(f"{family}_{key}", real, label, unit)
    elif label in _SCALARS:
        builder.put(_SCALARS[label][0], real, label, _SCALARS[label][1])
    elif label in _SETTINGS:
        told: JSON = None if text.strip() == "None" else clean_text(text)
        if real is not None and label not in ("Model", "TensorRT LLM Version"):
            told = int(real) if real == int(real) else real
        builder.tell(**{_SETTINGS[label]: told})
    elif label == "Number of concurrent requests":
        builder.concurrency_measured = real
    else:
        builder.keep(label, text if real is None else real)
