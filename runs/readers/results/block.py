"""The block 'Serving Benchmark Result' of sglang.bench_serving and vllm bench serve.

Rows are 'label: value'. Which of the two clients printed it is told by labels that only one has.
sglang.bench_offline_throughput prints the same without a server.
"""

import re
from dataclasses import dataclass, field

from runs.engines.base import JSON, Damaged
from runs.readers.results.base import ResultRow
from runs.readers.results.names import stat
from runs.readers.results.numbers import count, number
from runs.readers.results.rows import Place, RowBuilder, around, cut_short
from runs.readers.results.safe import clean_text

TITLE = re.compile(r"=+ ?(?:Serving|Offline Throughput) Benchmark Result ?=+\s*\Z")
# The printed rows have 50 characters; the patterns below are made for short lines only.
LINE_LIMIT = 500
_END = re.compile(r"={40,}\s*\Z")
_SECTION = re.compile(r"-{2,} ?[A-Za-z][A-Za-z0-9 .,()/-]{2,60}?-{2,}\s*\Z")
_LINE = re.compile(r"\s{0,4}([A-Z][A-Za-z0-9 ._/()%-]{1,60}?):\s+(\S.*?)(\s*)\Z")
_STAT = re.compile(
    r"(Mean|Median|Std|Max|Min|P[0-9.]{1,6}) (E2E Latency|E2EL|TTFT|TPOT|ITL) \((ms|s|us)\)\Z"
)
_POSITION = re.compile(r"Position ([0-9]{1,3})\Z")
_FAMILIES = {"E2E Latency": "e2e", "E2EL": "e2e", "TTFT": "ttft", "TPOT": "tpot", "ITL": "itl"}

SGLANG, VLLM = "sglang.bench_serving", "vllm.bench_serve"
OFFLINE = "sglang.bench_offline_throughput"
# Label → key, unit.
_SCALARS = {
    "Successful requests": ("completed", "requests"),
    "Failed requests": ("failed", "requests"),
    "Benchmark duration (s)": ("duration_s", "s"),
    "Total input tokens": ("input_tokens", "tokens"),
    "Total generated tokens": ("output_tokens", "tokens"),
    "Total generated tokens (retokenized)": ("output_tokens_retokenized", "tokens"),
    "Request throughput (req/s)": ("requests_per_s", "req/s"),
    "Request goodput (req/s)": ("goodput_rps", "req/s"),
    "Input token throughput (tok/s)": ("input_tps", "tok/s"),
    "Output token throughput (tok/s)": ("output_tps", "tok/s"),
    "Peak output token throughput (tok/s)": ("peak_output_tps", "tok/s"),
    "Total token throughput (tok/s)": ("total_tps", "tok/s"),
    "Total Token throughput (tok/s)": ("total_tps", "tok/s"),
    "Peak concurrent requests": ("peak_running", "requests"),
    "Accept length": ("accept_len_cumulative", "tokens"),
    "Acceptance length": ("accept_len", "tokens"),
    "Acceptance rate (%)": ("accept_rate", "%"),
    "Drafts": ("drafts", "requests"),
    "Draft tokens": ("drafted_tokens", "tokens"),
    "Accepted tokens": ("accepted_tokens", "tokens"),
}
_ASKED = ("Max request concurrency", "Max reqeuest concurrency", "Maximum request concurrency")
_RATES = ("Traffic request rate", "Request rate configured (RPS)")
_BARE = ("Per-position acceptance (%)",)
_SGLANG_ONLY = ("Backend", "Traffic request rate", *_ASKED[:2], "Accept length", "Concurrency")
_OFFLINE_ONLY = "Last generation throughput (tok/s)"
_VLLM_ONLY = ("Failed requests", _ASKED[2], _RATES[1], "Acceptance length")


def opens_block(text: str) -> bool:
    """Tell a row of a block whose title was not copied: a label of it, and its wide gap."""
    if ":   " not in text or len(text) > LINE_LIMIT:
        return False
    match = _LINE.match(text.rstrip("\r\n"))
    return match is not None and (match[1] in _SCALARS or _STAT.match(match[1]) is not None)


@dataclass(slots=True)
class Block:
    """An open block; it may be interrupted by lines of others, and ends at its last rule."""

    place: Place
    pairs: list[tuple[str, str]] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    ended: bool = False

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        """Take a line; False when it is none of the block's."""
        text = text.rstrip("\r\n")
        if self.ended or len(text) > LINE_LIMIT:
            return False
        if _END.match(text):
            self.ended = True
            return True
        if not text.strip() or _SECTION.match(text):
            return bool(text.strip())
        match = _LINE.match(text)
        if match is None:
            return text.rstrip().rstrip(":") in _BARE
        if not _is_known(match[1]):
            return False
        if not terminated and not match[3]:
            self.damaged.append(cut_short(text, place))
            return True
        self.pairs.append((match[1], match[2]))
        return True

    def row(self, settings: dict[str, JSON]) -> ResultRow:
        """Make the row; what the block says itself wins over the client's command."""
        builder = RowBuilder(self._tool(settings), self.place)
        builder.context = around(settings)
        asked = settings.get("max_concurrency")
        builder.concurrency = count(asked) if not isinstance(asked, list) else None
        for label, text in self.pairs:
            _put(builder, label, text)
        positions = sum(key.startswith("accept_at_") for key in builder.metrics)
        builder.tell(num_speculative_tokens=positions or None)
        return builder.done()

    def _tool(self, settings: dict[str, JSON]) -> str:
        labels = {label for label, _ in self.pairs}
        if _OFFLINE_ONLY in labels:
            return OFFLINE
        sglang = sum(each in labels for each in _SGLANG_ONLY)
        vllm = sum(each in labels for each in _VLLM_ONLY)
        if sglang == vllm:
            told = settings.get("tool")
            return told if isinstance(told, str) else (SGLANG if sglang else VLLM)
        return SGLANG if sglang > vllm else VLLM


# Labels with a unit behind them, which a newer release may add ("Total input vision tokens").
_SHAPED = re.compile(
    r"(?:Total|Peak|Mean|Median|Max|Min|P[0-9.]+|Request|Input|Output|Cache|Cached|Goodput|Probe|"
    r"Client|Steady|SLO|Prefill|Decode|RTFX|Device|Host|Storage|Prefix)\b"
)


def _is_known(label: str) -> bool:
    return (
        label in _SCALARS
        or label in _ASKED
        or label in _RATES
        or label in ("Backend", "Concurrency", _OFFLINE_ONLY, *_BARE)
        or _POSITION.match(label) is not None
        or _SHAPED.match(label) is not None
    )


def _put(builder: RowBuilder, label: str, text: str) -> None:
    timed, position = _STAT.match(label), _POSITION.match(label)
    if timed:
        key = f"{_FAMILIES[timed[2]]}_{stat(timed[1]) or timed[1]}"
        builder.put(key, _value(text), label, timed[3])
    elif position:
        builder.put(f"accept_at_{int(position[1])}", _value(text), label, "%")
    elif label in _SCALARS:
        key, unit = _SCALARS[label]
        builder.put(key, _value(text), label, unit)
    elif label in _ASKED:
        builder.concurrency = count(text)
    elif label in _RATES:
        rate = number(text)
        builder.tell(request_rate=clean_text(text) if rate is None else rate)
    elif label == "Backend":
        builder.tell(backend=clean_text(text))
    elif label == "Concurrency":
        builder.concurrency_measured = number(text)
    elif label not in _BARE:
        real = number(text)
        builder.keep(label, text if real is None else real)


def _value(text: str) -> JSON:
    """Give the number, or the text itself, so that 'nan' is known to have been printed."""
    real = number(text)
    return text if real is None else real
