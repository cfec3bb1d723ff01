"""One line of text to its batch records. The record may stand anywhere in the line.

A line can carry a progress bar or another program's prefix in front of the record, or the records
of two writers. A record can be cut: then its last value has no end, and what has no end is unknown.
"""

import re
from dataclasses import dataclass, field
from typing import cast

from runs.engines.base import JSON, Damaged, Phase, Sample
from runs.engines.closing import until_closing
from runs.engines.redact import redact_text
from runs.engines.sglang.labels import INTERVAL_FIELDS, INTERVAL_LABEL, LABELS
from runs.engines.sglang.values import (
    UnreadableValue,
    delimits_itself,
    read_interval,
    read_unknown,
    read_value,
)

# What a person quotes from a damaged line; the whole of it stays in the raw log.
TEXT_LIMIT = 4096
# The body begins with '#…'; a line cut inside the head ends there, or with the dots of an elision.
_HEAD = re.compile(r"(Decode|Prefill) batch(?: \[([0-9]{1,18})\])?[.,](?= #| ?\Z| ?[.…])")
_STAMP = re.compile(
    r"\[(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[ T])?([0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,6})?)"
    r"((?: [A-Z_]{1,20}[0-9]{1,6}){0,12})\]"
)
_BARE_STAMP = re.compile(
    r"(?<![0-9-])([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,3})?)"
)
# Where the next line begins that lost the line end before it; a record has neither in it.
_NEXT_LINE = re.compile(rf"{_STAMP.pattern}|(?:INFO|WARNING|ERROR):  ")
_GRAPH = re.compile(r"[a-z]{1,16} graph")
# A logged request repeats what a user typed; a record inside it is not the server's.
_REQUEST_ECHO = re.compile(r"obj=\w{0,40}\(|\b(?:Receive|Finish): ")


@dataclass(slots=True)
class _Body:
    """The fields of one record as they are found, before they become a Sample."""

    ints: dict[str, int | None] = field(default_factory=dict)
    floats: dict[str, float | None] = field(default_factory=dict)
    graph: bool | None = None
    graph_label: str | None = None
    extras: dict[str, JSON] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    fault: str | None = None


def stamp(text: str) -> tuple[str | None, str | None]:
    """Give (time, rank) of the last bracketed stamp in the text, else of a bare one, else Nones."""
    found = _last(_STAMP, text)
    if found is None:
        bare = _last(_BARE_STAMP, text)
        return (f"{bare[1]}T{bare[2].replace(',', '.')}", None) if bare else (None, None)
    clock = found[2].replace(",", ".")
    return (f"{found[1]}T{clock}" if found[1] else clock), (found[3].strip() or None)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def read_batches(text: str, *, offset: int, line: int, terminated: bool) -> list[Sample | Damaged]:
    """Read every batch record of one line.

    `terminated` says whether the line ended with a newline; without one its last value is unknown.
    The stamp of a record glued to another one ends that one's last value as a newline does.
    """
    heads = list(_HEAD.finditer(text))
    if heads and _REQUEST_ECHO.search(text, 0, heads[0].start()):
        return []
    records: list[Sample | Damaged] = []
    begin = 0
    for index, head in enumerate(heads):
        last = index + 1 == len(heads)
        glued = _NEXT_LINE.search(text, head.end()) if last else None
        if glued is not None:
            end = glued.start()
        else:
            end = len(text) if last else _prefix_start(text, head.end(), heads[index + 1].start())
        # A second record in the line is told from the first by a position inside the line.
        at = offset + begin
        piece = text[begin:end]
        whole = terminated if end == len(text) else _NEXT_LINE.match(text, end) is not None
        body = _read_body(text[head.end() : end], whole=whole)
        records.append(_record(head, piece, body, stamp(text[begin : head.start()]), at, line))
        begin = end
    return records


def _prefix_start(text: str, left: int, right: int) -> int:
    """Find where the prefix of the record at `right` begins."""
    start = right
    for found in _STAMP.finditer(text, left, right):
        start = found.start()
    return start


def _read_body(text: str, *, whole: bool) -> _Body:
    body = _Body()
    text, closed = until_closing(text)
    whole = whole or closed
    stripped = text.strip(" ")
    comma = stripped.endswith(",")
    pieces = _pieces(stripped.rstrip(" ,"))
    # Every release prints #queue-req, and after it only values that show their own end. A line
    # without it was cut somewhere, newline or not.
    complete = whole and any(piece.startswith("#queue-req: ") for piece in pieces)
    for index, piece in enumerate(pieces):
        final = index + 1 == len(pieces)
        label, colon, value = piece.partition(": ")
        if not colon:
            if piece:
                body.unread.append(piece)
            continue
        open_end = final and not comma
        if open_end and not (delimits_itself(value) and whole) and not _ends_well(label, complete):
            body.unread.append(piece)
            continue
        _take(body, label.strip(), value.strip(), last=final)
    return body


def _ends_well(label: str, complete: bool) -> bool:
    """Tell whether a value at the end of a line may be believed: whole numbers of whole lines."""
    known = LABELS.get(label.strip())
    return complete and (known is None or known.form == "int")


def _pieces(text: str) -> list[str]:
    """Split at ', ' but not inside brackets ('2.66 [2.51, 2.81]')."""
    pieces: list[str] = []
    for part in text.split(", "):
        if pieces and pieces[-1].count("[") > pieces[-1].count("]"):
            pieces[-1] += f", {part}"
        else:
            pieces.append(part)
    return pieces


def _take(body: _Body, label: str, value: str, *, last: bool) -> None:
    """Put one field where it belongs; a known label with an unreadable value is a fault."""
    try:
        _put(body, label, value)
    except UnreadableValue:
        if last:
            body.unread.append(f"{label}: {value}")
        elif body.fault is None:
            body.fault = f"unreadable value of '{label}'"


def _put(body: _Body, label: str, value: str) -> None:
    known = LABELS.get(label)
    if known is not None:
        number = read_value(value, known.form)
        if known.field not in Sample.__slots__:
            body.extras[known.field] = number
        elif known.form == "int":
            body.ints[known.field] = cast("int | None", number)
        else:
            body.floats[known.field] = number
    elif label == INTERVAL_LABEL:
        body.extras.update(zip(INTERVAL_FIELDS, read_interval(value), strict=True))
    elif _GRAPH.fullmatch(label):
        if value not in ("True", "False"):
            raise UnreadableValue(value)
        body.graph, body.graph_label = value == "True", label
    else:
        body.extras[label] = read_unknown(value)


def _record(
    head: re.Match[str],
    text: str,
    body: _Body,
    when: tuple[str | None, str | None],
    offset: int,
    line: int,
) -> Sample | Damaged:
    phase = cast("Phase", head[1].lower())
    fault = body.fault or _too_little(phase, body)
    if fault is not None:
        return Damaged(fault, redact_text(text[:TEXT_LIMIT]), offset, line)
    extras = dict(body.extras)
    if head[2]:
        extras["iteration"] = int(head[2])
    if body.unread:
        extras["unread"] = redact_text(", ".join(body.unread)[:TEXT_LIMIT])
    return _sample(phase, body, extras, when, offset, line)


def _too_little(phase: Phase, body: _Body) -> str | None:
    """Say why what was read is not enough for a sample, or None when it is."""
    if phase == "prefill":
        found = "new_seq" in body.ints and "new_tokens" in body.ints
        return None if found else "cut before '#new-token'"
    if "running" not in body.ints:
        return "cut before '#running-req'"
    if "output_tps" in body.floats or "accept_len" in body.floats:
        return None
    return "cut before its accept len or throughput"


def _sample(
    phase: Phase,
    body: _Body,
    extras: dict[str, JSON],
    when: tuple[str | None, str | None],
    offset: int,
    line: int,
) -> Sample:
    ints, floats = body.ints, body.floats
    full = extras.get("full_token"), extras.get("full_token_usage")
    tokens = ints.get("tokens", cast("int | None", full[0]))
    usage = floats.get("token_usage", cast("float | None", full[1]))
    return Sample(
        phase=phase,
        time=when[0],
        rank=when[1],
        running=ints.get("running"),
        waiting=ints.get("waiting"),
        tokens=tokens,
        token_usage=usage,
        accept_len=floats.get("accept_len"),
        accept_rate=floats.get("accept_rate"),
        graph=body.graph,
        graph_label=body.graph_label,
        output_tps=floats.get("output_tps"),
        input_tps=floats.get("input_tps"),
        new_seq=ints.get("new_seq"),
        new_tokens=ints.get("new_tokens"),
        cached_tokens=ints.get("cached_tokens"),
        pending_tokens=ints.get("pending_tokens"),
        extras=extras,
        offset=offset,
        line=line,
    )
