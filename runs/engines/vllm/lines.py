"""One vLLM line to its statistics records: engine intervals, speculation, iterations."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from runs.engines.base import JSON, Damaged, Phase, Sample
from runs.engines.closing import until_closing
from runs.engines.redact import redact_text
from runs.engines.sglang.values import UnreadableValue
from runs.engines.vllm import labels
from runs.engines.vllm.heads import Piece

TEXT_LIMIT = 4096
_ENGINE = re.compile(
    r"(?:(?P<rank>Engine [0-9]{1,6})|(?P<count>[0-9]{1,6}) Engines Aggregated): (?=Avg prompt)"
)
_STATS = re.compile(r"Avg prompt (?:throughput|tput): ")
_SPEC = re.compile(r"SpecDecoding metrics: ")
_SPEC_V0 = re.compile(r"Speculative metrics: ")
_ITERATION = re.compile(
    r"(?:(?P<rank>Engine [0-9]{1,6}): )?Iteration\((?P<iteration>[0-9]{1,15})\): (?P<body>.*)"
)
_COUNTED = re.compile(r"([0-9]{1,15}) ([a-z][a-z ]{1,40})")
_ELAPSED = re.compile(r"iteration elapsed time: ([0-9]{1,9}(?:\.[0-9]{1,6})?) ms")
_COUNTED_FIELDS = {
    "context requests": "context_req",
    "context tokens": "context_tokens",
    "generation requests": "generation_req",
    "generation tokens": "generation_tokens",
}
# A label begins with a letter and has no digit beside its colon.
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9 _/.\-]{1,60}")


@dataclass(slots=True)
class _Fields:
    known: dict[str, JSON] = field(default_factory=dict)
    other: dict[str, JSON] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    fault: str | None = None


def read_stats(
    piece: Piece, *, offset: int, line: int, terminated: bool
) -> Sample | Damaged | None:
    """Read the record of one piece, None when it holds none."""
    for pattern, reader in _READERS:
        match = pattern.search(piece.text)
        if match is not None:
            body, closed = until_closing(piece.text[match.start() :])
            whole = terminated or not piece.last or closed
            if closed:
                piece = piece._replace(text=piece.text[: match.start()] + body)
                match = pattern.search(piece.text) or match
            return reader(match, piece, offset, line, whole)
    return None


def _interval(
    match: re.Match[str], piece: Piece, offset: int, line: int, whole: bool
) -> Sample | Damaged:
    fields = _read_fields(piece.text[match.start() :], whole, v0=False)
    engine = _ENGINE.search(piece.text, 0, match.end())
    rank = engine["rank"] if engine else None
    if engine and engine["count"]:
        rank = f"{engine['count']} Engines Aggregated"
        fields.other["engines"] = int(engine["count"])
    usages = [name for name in fields.known if name.endswith("_kv_usage")]
    # V0 names the swap space on the host after the pool on the device.
    fields.known["token_usage"] = fields.known.pop(usages[0]) if usages else None
    if usages and not usages[0].startswith("gpu"):
        fields.other["kv_device"] = usages[0].removesuffix("_kv_usage")
    if fields.known.get("output_tps") is None:
        fields.fault = fields.fault or "cut before its generation throughput"
    return _record("interval", rank, fields, piece, offset, line)


def _spec(
    match: re.Match[str], piece: Piece, offset: int, line: int, whole: bool
) -> Sample | Damaged:
    fields = _read_fields(piece.text[match.end() :], whole, v0=match.re is _SPEC_V0)
    if "accept_len" not in fields.known and "accept_rate" not in fields.known:
        fields.fault = fields.fault or "cut before its acceptance"
    return _record("spec_interval", None, fields, piece, offset, line)


def _iteration(
    match: re.Match[str], piece: Piece, offset: int, line: int, whole: bool
) -> Sample | Damaged:
    fields = _Fields()
    fields.known["iteration"] = int(match["iteration"])
    parts = match["body"].split(", ")
    for index, part in enumerate(parts):
        counted, elapsed = _COUNTED.fullmatch(part), _ELAPSED.fullmatch(part)
        if counted and (whole or index + 1 < len(parts)) and counted[2] in _COUNTED_FIELDS:
            fields.known[_COUNTED_FIELDS[counted[2]]] = int(counted[1])
        elif elapsed:
            fields.known["step_ms"] = float(elapsed[1])
        else:
            _take(fields, *_label_value(part), closed=index + 1 < len(parts), v0=False)
    usage = next((name for name in fields.known if name.endswith("_kv_usage")), None)
    if usage:
        fields.known["token_usage"] = fields.known.pop(usage)
    if "step_ms" not in fields.known:
        fields.fault = "cut before its elapsed time"
    return _record("iteration", match["rank"], fields, piece, offset, line)


_READERS: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str], Piece, int, int, bool], Sample | Damaged]], ...
] = ((_SPEC, _spec), (_SPEC_V0, _spec), (_ITERATION, _iteration), (_STATS, _interval))


def _read_fields(text: str, whole: bool, *, v0: bool) -> _Fields:
    """Read 'label: value' pairs; a part without a label belongs to the list before it."""
    fields = _Fields()
    pairs = _pairs(text.rstrip().rstrip(".,"))
    for index, (label, value) in enumerate(pairs):
        _take(fields, label, value, closed=whole or index + 1 < len(pairs), v0=v0)
    return fields


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in text.split(", "):
        label, value = _label_value(part)
        if label or not pairs:
            pairs.append((label, value))
        else:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}, {value}")
    return pairs


def _label_value(part: str) -> tuple[str, str]:
    label, colon, value = part.partition(": ")
    return (label, value) if colon and _LABEL.fullmatch(label) else ("", part)


def _take(fields: _Fields, label: str, value: str, *, closed: bool, v0: bool) -> None:
    known = labels.find(label, v0) if label else None
    if known is None:
        if label and closed:
            fields.other[label] = labels.read_other(value)
        elif label or value.strip():
            fields.unread.append(f"{label}: {value}" if label else value)
        return
    try:
        fields.known[known.field] = labels.read(value, known.form, closed=closed)
    except UnreadableValue:
        fields.unread.append(f"{label}: {value}")


_SAMPLE_FIELDS = (
    "running",
    "waiting",
    "token_usage",
    "accept_len",
    "accept_rate",
    "output_tps",
    "input_tps",
)


def _record(
    phase: Phase, rank: str | None, fields: _Fields, piece: Piece, offset: int, line: int
) -> Sample | Damaged:
    at = offset + piece.begin
    if fields.fault is not None:
        return Damaged(fields.fault, redact_text(piece.text[:TEXT_LIMIT]), at, line)
    known = fields.known
    extras = {key: value for key, value in known.items() if key not in _SAMPLE_FIELDS}
    extras |= fields.other
    if piece.process is not None:
        extras |= {"process": piece.process, "process_pid": piece.pid}
    if fields.unread:
        extras["unread"] = redact_text(", ".join(fields.unread)[:TEXT_LIMIT])
    told = {name: known.get(name) for name in _SAMPLE_FIELDS}
    return Sample(
        phase=phase,
        time=piece.time,
        rank=rank,
        tokens=None,
        graph=None,
        graph_label=None,
        new_seq=None,
        new_tokens=None,
        cached_tokens=None,
        pending_tokens=None,
        extras=extras,
        offset=at,
        line=line,
        **told,  # type: ignore[arg-type]
    )
