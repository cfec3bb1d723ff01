"""TensorRT-LLM's iteration lines: 'iter = 812, …, states = {…}' to samples."""

import re

from runs.engines.base import JSON, Damaged, Record, Sample
from runs.engines.redact import redact_text
from runs.engines.sglang.values import read_unknown

HINTS = ("[TRT-LLM]", "host_step_time = ", "num_scheduled_requests")
_LINE = re.compile(r"iter = ([0-9]{1,15}), ")
_STAMP = re.compile(
    r"timestamp = ([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]"
    r"([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)(?=, )"
)
_HEAD_STAMP = re.compile(r"\[([0-9]{2})/([0-9]{2})/([0-9]{4})-([0-9]{2}:[0-9]{2}:[0-9]{2})\]")
_PAIR = re.compile(r"'?([A-Za-z_][A-Za-z0-9_ ]{0,60})'?\s?(?:=|:)\s([^,{}]{1,80})(?=([,}]|\Z))")
_SECONDS = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(ms|s)")
# The label as printed, what we call it, and whether it is a time in ms.
_COUNTS = {
    "num_scheduled_requests": "running",
    "num_ctx_requests": "context_req",
    "num_ctx_tokens": "context_tokens",
    "num_generation_tokens": "generation_tokens",
    "num_generation_requests": "generation_req",
}
_TIMES = {
    "host_step_time": "step_ms",
    "elapsed_time": "step_ms",  # of earlier releases, in seconds
    "prev_device_step_time": "prev_device_step_ms",
    "device_step_time": "device_step_ms",
}
_TEXT_LIMIT = 4096


def read_line(text: str, offset: int, line: int) -> list[Record]:
    """Read the iteration record of one line, if it holds one."""
    head = _LINE.search(text)
    if head is None or not ("_time = " in text or "num_scheduled_requests" in text):
        return []
    found: dict[str, JSON] = {}
    for label, value, end in _PAIR.findall(text[head.end() :]):
        if not end:
            continue  # the value touches the end of the line, and a whole record ends in '}'
        _take(found, label.strip(), value.strip())
    if "step_ms" not in found or "running" not in found:
        reason = "cut before its step time or its requests"
        return [Damaged(reason, redact_text(text[:_TEXT_LIMIT]), offset, line)]
    running = found.pop("running")
    rank = found.pop("rank", None)
    return [
        Sample(
            phase="iteration",
            time=_time(text),
            rank=None if rank is None else str(rank),
            running=running if isinstance(running, int) else None,
            waiting=None,
            tokens=None,
            token_usage=None,
            accept_len=None,
            accept_rate=None,
            graph=None,
            graph_label=None,
            output_tps=None,
            input_tps=None,
            new_seq=None,
            new_tokens=None,
            cached_tokens=None,
            pending_tokens=None,
            extras={"iteration": int(head[1]), **found},
            offset=offset,
            line=line,
        )
    ]


def _take(found: dict[str, JSON], label: str, value: str) -> None:
    if label in _COUNTS and value.isascii() and value.isdigit():
        found[_COUNTS[label]] = int(value)
    elif label in _TIMES:
        time = _SECONDS.fullmatch(value)
        if time:
            found[_TIMES[label]] = round(float(time[1]) * (1 if time[2] == "ms" else 1000), 9)
    elif label not in ("timestamp", "states"):
        found.setdefault(label, read_unknown(value))


def _time(text: str) -> str | None:
    stamp = _STAMP.search(text)
    if stamp:
        return f"{stamp[1]}T{stamp[2]}"
    head = _HEAD_STAMP.search(text)
    return f"{head[3]}-{head[1]}-{head[2]}T{head[4]}" if head else None
