"""Bytes of any text, as they come, to the records of every engine in it.

Carriers are taken off, folded records put together, glued ones told apart. Memory does not grow
with the length of the text. What gives no record goes to `other`, in order, for those who look for
results and settings there.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from runs.engines.base import Damaged, Event, Record, Request, Sample
from runs.engines.compiling import COMPILING
from runs.engines.feed import LineFeed, Position, RawLine
from runs.engines.llamacpp import log as llamacpp
from runs.engines.sglang import log as sglang
from runs.engines.sglang import requests as sglang_requests
from runs.engines.sglang.events import HINTS as SGLANG_HINTS
from runs.engines.sglang.shapes import Shapes
from runs.engines.trtllm import log as trtllm
from runs.engines.vllm import log as vllm
from runs.engines.vllm.events import UVICORN
from runs.readers import gpu, services
from runs.readers.carriers import PLAIN, Carried, Carriers, Origin
from runs.readers.carriers.signs import last_state
from runs.readers.wrapped import Wrapped, may_begin

# The longest line that can be a record; a result as JSON may be longer.
RECORD_LIMIT = 64 * 1024
LINE_LIMIT = 32 * 2**20
CHUNK = 256 * 1024
_HINTS = tuple(
    dict.fromkeys(
        (
            *vllm.HINTS,
            *llamacpp.HINTS,
            *trtllm.HINTS,
            *SGLANG_HINTS,
            *services.HINTS,
            *gpu.HINTS,
            *sglang_requests.HINTS,
        )
    )
)


class Told(NamedTuple):
    """A record and who printed it; `engine` is None for what no engine says (systemd, a GPU).

    `time` is the carrier's stamp.
    """

    record: Record | Request
    origin: Origin
    engine: str | None
    time: str | None


class Other(NamedTuple):
    """A line that gave no record, without its carrier."""

    text: bytes
    origin: Origin
    offset: int
    line: int
    terminated: bool


class _Held(NamedTuple):
    """A line that may go on in the next lines. `sample`: what it gives alone, if that is known."""

    line: RawLine
    carried: Carried
    sample: Sample | None
    wrapped: Wrapped | None


class TextReader:
    """Reads one text. `other` is called with each line that gives nothing; None: nobody asks."""

    def __init__(self, other: Callable[[Other], None] | None) -> None:
        self._feed = LineFeed(Position(0, 1, b"", 0), LINE_LIMIT)
        self._carriers = Carriers()
        self._shapes = Shapes()
        self._timings = llamacpp.TimingReader()
        self._gpu = gpu.GpuReader()
        self._other = other
        self._held: _Held | None = None
        self._width: int | None = None
        self._told: list[Told] = []
        self._engine: str | None = None
        self._servers: set[str] = set()

    def feed(self, data: bytes) -> list[Told]:
        """Take the next bytes and give the records that became certain."""
        for line in self._feed.push(data):
            self._line(line)
        return self._taken()

    def finish(self) -> list[Told]:
        """Give the rest when no more will come; the open last value of a cut line is unknown."""
        for line in self._feed.rest():
            self._line(line)
        self._release()
        self._tell(self._timings.finish(), Carried(b"", PLAIN, None, None), "llamacpp")
        return self._taken()

    def _taken(self) -> list[Told]:
        told, self._told = self._told, []
        return told

    def _line(self, line: RawLine) -> None:
        if len(line.raw) > RECORD_LIMIT:
            self._release()
            self._long(line)
            return
        carried = self._carriers.unwrap(line.raw)
        message = carried.message
        stamped = message[:3] == b"[20"
        if self._held is not None:
            if stamped:
                self._release()
            elif self._folded(line, carried):
                return
        if not line.terminated or not (stamped or may_begin(message)):
            self._take(line, carried)
            return
        sample = None
        if stamped and b" batch" in message and message.isascii():
            # The way of nearly every line; the other way gives the same.
            sample = self._shapes.read(message.decode("ascii"), line.offset, line.line)
        self._held = _Held(line, carried, sample, None)

    def _long(self, line: RawLine) -> None:
        """Leave a long JSON object to the reader of results; everything else is no record."""
        if line.raw[:1] == b"{" and not line.too_long and self._other is not None:
            self._other(Other(line.raw, PLAIN, line.offset, line.line, line.terminated))
            return
        damaged = sglang.too_long_line(line.raw, line.offset, line.line)
        self._told.append(Told(damaged, PLAIN, None, None))

    def _folded(self, line: RawLine, carried: Carried) -> bool:
        """Try the line as the rest of what is held."""
        if self._held is None:
            return False
        begin, beginning, sample, wrapped = self._held
        if wrapped is None:
            records = [sample] if sample else self._records(begin, beginning)
            wrapped = Wrapped(begin, beginning, records, self._width)
            self._held = _Held(begin, beginning, sample, wrapped)
        if not line.terminated or not wrapped.take(line, carried):
            self._release()
            return False
        if wrapped.ended:
            self._release()
        return True

    def _release(self) -> None:
        """Give what was held: one folded record, or each line for itself."""
        if self._held is None:
            return
        (begin, carried, sample, wrapped), self._held = self._held, None
        if wrapped is None and sample is not None:
            self._engine = "sglang"
            origin = carried.origin
            if origin.source is not None:
                self._servers.add(origin.source)
                sample.extras["source"] = origin.source
            self._told.append(Told(sample, origin, "sglang", carried.time))
            return
        if wrapped is not None and self._unfolded(begin, carried, wrapped):
            return
        if sample is not None:
            self._engine = "sglang"
            self._tell([sample], carried, "sglang")
        else:
            self._take(begin, carried)
        if wrapped is not None:
            for line, rest in wrapped.rest:
                self._take(line, rest)

    def _unfolded(self, begin: RawLine, carried: Carried, wrapped: Wrapped) -> bool:
        """Give the record that the parts make together, and what follows it; False for none."""
        whole = wrapped.rest and wrapped.read(
            lambda message: self._records(begin, carried._replace(message=message))
        )
        if not whole:
            return False
        message, records, taken = whole
        self._width = max(self._width or 0, wrapped.width)
        if any(isinstance(each, Request) for each in records):
            self._take(begin, carried._replace(message=message))  # a line of several
        else:
            self._tell(records, carried, self._engine)
        for line, rest in wrapped.rest[taken:]:
            self._take(line, rest)
        return True

    def _records(self, line: RawLine, carried: Carried) -> list[Record | Request]:
        """Read a message for itself; timings are one line of a request's."""
        message = carried.message
        if not self._may_tell(message, carried):
            return []
        timings = llamacpp.read_whole(sglang.decoded(message), line.offset, line.line)
        if timings:
            return [*timings]
        return [*self._engine_records(message, line.offset, line.line, line.terminated)]

    def _take(self, line: RawLine, carried: Carried) -> None:
        if carried.fault is not None:
            damaged = Damaged(carried.fault, "", line.offset, line.line)
            self._told.append(Told(damaged, carried.origin, None, None))
            return
        if self._may_tell(carried.message, carried):
            records = self._engine_records(carried.message, line.offset, line.line, line.terminated)
            if records:
                self._tell(records, carried, self._engine)
                return
            if self._others(line, carried):
                return
        if self._other is not None:
            origin = carried.origin
            self._other(Other(carried.message, origin, line.offset, line.line, line.terminated))

    def _may_tell(self, message: bytes, carried: Carried) -> bool:
        if b" batch" in message or carried.origin.ident in services.MANAGERS:
            return True
        if message.endswith(b" OK") and b" HTTP/1" in message:
            return False
        text = message.decode("latin-1")
        for hint in _HINTS:  # twice as fast as any(), and asked of every line
            if hint in text:
                return True
        return message[:2] == b"20" or (self._gpu.named and b", " in message)  # of nvidia-smi

    def _engine_records(
        self, message: bytes, offset: int, line: int, terminated: bool
    ) -> list[Record]:
        """Read one message as a line of whichever engine printed it."""
        if b" batch" in message:
            records = sglang.read_line(message, offset, line, terminated, self._shapes)
            if records:
                self._engine = "sglang"
                return records
        text = sglang.decoded(last_state(message))
        if vllm.is_vllm(text) or _STATISTICS in text or " tput: " in text:
            records = vllm.read_line(text, offset, line, terminated)
            self._engine = "vllm"
            return records
        if "iter = " in text:
            records = trtllm.read_line(text, offset, line)
            if records:
                self._engine = "trtllm"
                return records
        return self._events(text, message, offset, line, terminated)

    def _events(
        self, text: str, message: bytes, offset: int, line: int, terminated: bool
    ) -> list[Record]:
        """Read what several engines say in the same words as the engine's that was seen last."""
        if self._engine == "vllm" or "EngineCore" in text or "EngineDead" in text:
            if any(
                words in text for words in (*UVICORN, "EngineCore", "EngineDead", "Engine core")
            ):
                return vllm.read_line(text, offset, line, terminated)
            if any(words in text for words in _VLLM_ALONE):
                return vllm.read_line(text, offset, line, terminated)
            return []
        if " batch" in text:
            return []
        records = sglang.read_line(message, offset, line, terminated)
        if records and self._engine is None and _is_sglang(records):
            self._engine = "sglang"
        return records

    def _others(self, line: RawLine, carried: Carried) -> bool:
        """Read what is no engine's log line: timings, service managers, GPU readings."""
        text = sglang.decoded(last_state(carried.message))
        requests = self._timings.take(text, line.offset, line.line, line.terminated)
        if requests is not None:
            self._engine = "llamacpp"
            self._tell(requests, carried, "llamacpp")
            return True
        if self._engine == "llamacpp":
            ready = llamacpp.read_event(text, line.offset, line.line)
            if ready is not None:
                self._tell([ready], carried, "llamacpp")
                return True
        logged = sglang_requests.read_request_event(text, line.offset, line.line)
        if logged is not None:
            self._tell([logged], carried, "sglang")
            return True
        rows = self._gpu.take(text, line.offset, line.line, line.terminated)
        if rows:
            self._tell(rows, carried, None)
            return True
        event = services.read_service_event(
            text, carried.origin, carried.time, line.offset, line.line, self._is_server
        )
        if event is not None:
            self._tell([event], carried, None)
        return event is not None

    def _is_server(self, name: str) -> bool:
        return name in self._servers

    def _tell(
        self, records: Iterable[Record | Request], carried: Carried, engine: str | None
    ) -> None:
        origin, time = carried.origin, carried.time
        for record in records:
            if isinstance(record, Sample):
                if origin.source is not None:
                    self._servers.add(origin.source)
                    record.extras["source"] = origin.source
                if record.time is None and time is not None:
                    record = _stamped(record, time)
            elif isinstance(record, Event) and record.time is None and time is not None:
                record = Event(
                    record.kind, time, record.text, record.data, record.offset, record.line
                )
            self._told.append(Told(record, origin, engine, time))


# What vLLM prints without its head: bars, and the last lines of a traceback.
_VLLM_ALONE = (
    "out of memory",
    "ddress already in use",
    "died unexpectedly",
    "% Completed | ",
    "Capturing CUDA graphs",
    *COMPILING,
)
_STATISTICS = "Avg prompt throughput: "


# Said by SGLang in words of its own.
_SGLANG_KINDS = ("server_args", "server_ready", "capacity", "retraction", "startup_timings")
_SGLANG_DEATHS = ("exception", "teardown", "watchdog", "memory-fraction", "init-failed")


def _is_sglang(records: list[Record]) -> bool:
    return any(
        isinstance(each, Event)
        and (each.kind in _SGLANG_KINDS or each.data.get("slug") in _SGLANG_DEATHS)
        for each in records
    )


def _stamped(sample: Sample, time: str) -> Sample:
    """Give a line without a stamp its carrier's, in the same form: whole seconds, no zone."""
    return replace(sample, time=time[: time.index("T") + 9] if "T" in time else time)


def read_stream(chunks: Iterable[bytes]) -> Iterator[Told]:
    """Read a text in pieces of any size, in bounded memory."""
    reader = TextReader(None)
    for chunk in chunks:
        yield from reader.feed(chunk)
    yield from reader.finish()
