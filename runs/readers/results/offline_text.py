"""What tools print that hand their requests to the engine themselves, without a server.

vllm bench throughput and latency end with a few lines; sglang.bench_one_batch prints each stage of
one static batch. Their latencies are the batch's, so only what means the same anywhere is mapped.
"""

import re
from dataclasses import dataclass, field

from runs.engines.base import JSON, Damaged
from runs.readers.results.base import ResultRow
from runs.readers.results.block import LINE_LIMIT
from runs.readers.results.numbers import count, number
from runs.readers.results.rows import Place, RowBuilder, around, cut_short

ONE_BATCH = "sglang.bench_one_batch"
THROUGHPUT = "vllm.bench_throughput"
LATENCY = "vllm.bench_latency"

_NUMBER = r"\s{0,8}([0-9][0-9.,eE+-]{0,20})"
_RATES = re.compile(rf"Throughput:{_NUMBER} requests/s,(?P<rest>.{{1,120}})\Z")
_RATE = re.compile(rf"{_NUMBER} ((?:total |output )?tokens/s)\s*(?:,|\Z)")
_TOKENS = re.compile(rf"Total num (prompt|output) tokens:{_NUMBER}\s*\Z")
_BATCH = re.compile(rf"(?:Avg|([0-9.]{{1,5}})% percentile) latency:{_NUMBER} seconds\s*\Z")
_STAGE = re.compile(
    rf"(Prefill|Decode|Total)(?: ([0-9]{{1,6}}))?\. {{1,4}}(?:Batch size: ([0-9]{{1,6}}), )?"
    rf"(?:median )?latency:{_NUMBER} s, (?:median )?throughput:{_NUMBER} token/s\s*\Z"
)
_RATE_KEYS = {
    "total tokens/s": "total_tps",
    "tokens/s": "total_tps",  # before the output's own rate was told
    "output tokens/s": "output_tps",
}


def opens_offline(text: str) -> bool:
    """Tell the first line of such an output."""
    return text[:10] in _HEADS and len(text) <= LINE_LIMIT and _matches(text.rstrip())


_HEADS = ("Throughput", "Prefill. l", "Avg latenc")


def _matches(text: str) -> bool:
    return any(each.match(text) for each in (_RATES, _TOKENS, _BATCH, _STAGE))


@dataclass(slots=True)
class OfflineReport:
    """An open output; it ends at the first line that is none of it."""

    place: Place
    lines: list[str] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        text = text.rstrip()
        if len(text) > LINE_LIMIT or not _matches(text):
            return False
        if not terminated:
            self.damaged.append(cut_short(text, place))
        else:
            self.lines.append(text)
        return True

    def row(self, settings: dict[str, JSON]) -> ResultRow | None:
        """Make the row, None when the output was cut before any figure."""
        if not self.lines:
            return None
        builder = RowBuilder(_tool(self.lines[0]), self.place)
        builder.context = around(settings)
        for line in self.lines:
            _put(builder, line)
        return builder.done()


def _tool(first: str) -> str:
    if _STAGE.match(first):
        return ONE_BATCH
    return LATENCY if _BATCH.match(first) else THROUGHPUT


def _put(builder: RowBuilder, line: str) -> None:
    if rates := _RATES.match(line):
        builder.put("requests_per_s", number(rates[1]), "requests/s", "req/s")
        for rate, unit in _RATE.findall(rates["rest"]):
            builder.put(_RATE_KEYS[unit], number(rate), unit, "tok/s")
    elif tokens := _TOKENS.match(line):
        key = "input_tokens" if tokens[1] == "prompt" else "output_tokens"
        builder.put(key, number(tokens[2]), f"Total num {tokens[1]} tokens", "tokens")
    elif batch := _BATCH.match(line):
        label = f"{batch[1]}% percentile latency" if batch[1] else "Avg latency"
        builder.keep(f"{label} (s)", number(batch[2]))
    elif stage := _STAGE.match(line):
        _put_stage(builder, stage)


def _put_stage(builder: RowBuilder, stage: re.Match[str]) -> None:
    name, step, batch, latency, rate = stage.groups()
    if batch is not None:
        builder.concurrency = count(batch)
    if step is not None:
        return  # a single pass: the median of all follows
    if name == "Total":
        builder.put("duration_s", number(latency), "Total latency", "s")
        builder.put("total_tps", number(rate), "Total throughput", "tok/s")
        return
    median = "median " if name == "Decode" else ""
    builder.keep(f"{name} {median}latency (s)", number(latency))
    builder.keep(f"{name} {median}throughput (token/s)", number(rate))
