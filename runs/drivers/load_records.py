"""The records of the probe driver: load.jsonl, one JSON object a line, read as it is written.

Times are epoch seconds, durations seconds, counts tokens or requests.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from runs.drivers.fields import Fields, NotJson, Unreadable, parse
from runs.engines.base import JSON, Damaged
from runs.engines.feed import LineFeed, Position, RawLine

# A level's end carries an in-flight curve of 400 points; nothing else comes near.
LINE_LIMIT = 256 * 1024
_TEXT_LIMIT = 2000
Built = TypeVar("Built")


@dataclass(frozen=True, slots=True)
class Hello:
    t: float
    version: int
    levels: tuple[int, ...]
    client: dict[str, JSON]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class LevelStart:
    t: float
    level: int
    concurrency: int
    requests: int
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class CacheSet:
    """What came of emptying the server's prefix cache before a level."""

    t: float
    level: int
    policy: str
    ok: bool
    status: int | None
    text: str
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of what a tool printed (`is_result` False) or of the file that it wrote.

    `skipped` bytes were left out before it.
    """

    level: int
    text: str
    is_result: bool
    skipped: int
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`tokens` are output tokens so far, None when the server does not tell usage.

    Of somebody else's tool only `done` may be known.
    """

    t: float
    level: int
    done: int | None
    of: int
    failed: int | None
    inflight: int | None
    tokens: int | None
    ttft_p50: float | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `first` and `last` are when its first and last token came.

    Tokens are those the server counted; `chunks` are not tokens.
    """

    level: int
    n: int
    send: float
    first: float | None
    last: float | None
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    chunks: int | None
    finish: str | None
    error: dict[str, JSON] | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class LevelEnd:
    """`window` is the time measured; `summary` the driver's own figures in base units.

    Of somebody else's tool `summary` is empty, `exit` tells how it ended, and `window_by` is "bar"
    or "process". `prefix` are prompt tokens, "cached" of "asked", as the server's own counters
    moved from the tool's start to its end.
    """

    t: float
    level: int
    concurrency: int
    window_start: float
    window_end: float
    window_by: str | None
    summary: dict[str, JSON]
    exit: dict[str, JSON] | None
    result: dict[str, JSON] | None
    prefix: dict[str, JSON] | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Done:
    t: float
    ok: bool
    cpu_s: float | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Fatal:
    t: float
    message: str
    offset: int
    line: int


LoadRecord: TypeAlias = (
    Hello | LevelStart | CacheSet | Output | Progress | Request | LevelEnd | Done | Fatal | Damaged
)


class LoadReader:
    """Reads load.jsonl from any position; any split of its bytes gives the same records."""

    def __init__(self, offset: int = 0, line: int = 1, tail: bytes = b"", skipped: int = 0) -> None:
        self._feed = LineFeed(Position(offset, line, tail, skipped), LINE_LIMIT)

    @classmethod
    def at(cls, state: Position) -> "LoadReader":
        """Go on where another reader stopped."""
        return cls(state.offset, state.line, state.tail, state.skipped)

    @property
    def state(self) -> Position:
        return self._feed.position

    @property
    def position(self) -> int:
        """Byte offset of the next byte to be fed."""
        return self.state.next_byte

    def feed(self, data: bytes) -> list[LoadRecord]:
        """Take the next bytes and give the records of the lines that ended in them."""
        found = (read_line(line, _BUILDERS) for line in self._feed.push(data))
        return [record for record in found if record is not None]

    def finish(self) -> list[LoadRecord]:
        """Give what is left when no more will come: a line without its end is damaged."""
        return [
            Damaged("cut before the end of the line", _text(line), line.offset, line.line)
            for line in self._feed.rest()
        ]


def read_line(
    line: RawLine, builders: Mapping[str, Callable[[Fields, int, int], Built]]
) -> Built | Damaged | None:
    """Read one line of records that tell their ``type``.

    A builder takes the fields, and the byte and line at which they begin. An empty line
    and an unknown type give nothing: whoever writes may be newer.
    """
    if line.too_long:
        return Damaged("line too long", _text(line), line.offset, line.line)
    if not line.raw.strip():
        return None
    try:
        found = parse(line.raw)
    except NotJson:
        return Damaged("not JSON", _text(line), line.offset, line.line)
    if not isinstance(found, dict):
        return Damaged("not an object", _text(line), line.offset, line.line)
    build = builders.get(str(found.get("type")))
    if build is None:
        return None
    try:
        return build(Fields(found), line.offset, line.line)
    except (Unreadable, OverflowError) as problem:
        return Damaged(str(problem), _text(line), line.offset, line.line)


def _text(line: RawLine) -> str:
    return line.raw[:_TEXT_LIMIT].decode("utf-8", "replace").replace("\x00", "\ufffd")


def _hello(given: Fields, offset: int, line: int) -> Hello:
    levels = given.wholes("levels")
    client = given.maybe_mapping("client") or {}
    return Hello(given.real("t"), given.whole("v"), levels, client, offset, line)


def _level_start(given: Fields, offset: int, line: int) -> LevelStart:
    return LevelStart(
        given.real("t"),
        given.whole("level"),
        given.whole("concurrency"),
        given.whole("requests"),
        offset,
        line,
    )


def _cache(given: Fields, offset: int, line: int) -> CacheSet:
    return CacheSet(
        t=given.real("t"),
        level=given.whole("level"),
        policy=given.maybe_text("policy") or "",
        ok=given.is_true("ok"),
        status=given.maybe_whole("status"),
        text=given.maybe_text("text") or "",
        offset=offset,
        line=line,
    )


def _output(given: Fields, offset: int, line: int) -> Output:
    return _piece(given, offset, line, is_result=False)


def _result(given: Fields, offset: int, line: int) -> Output:
    return _piece(given, offset, line, is_result=True)


def _piece(given: Fields, offset: int, line: int, *, is_result: bool) -> Output:
    return Output(
        level=given.whole("level"),
        text=given.maybe_text("text") or "",
        is_result=is_result,
        skipped=given.maybe_whole("skipped") or 0,
        offset=offset,
        line=line,
    )


def _progress(given: Fields, offset: int, line: int) -> Progress:
    return Progress(
        t=given.real("t"),
        level=given.whole("level"),
        done=given.maybe_whole("done"),
        of=given.whole("of"),
        failed=given.maybe_whole("failed"),
        inflight=given.maybe_whole("inflight"),
        tokens=given.maybe_whole("tokens"),
        ttft_p50=given.maybe_real("ttft_p50"),
        offset=offset,
        line=line,
    )


def _request(given: Fields, offset: int, line: int) -> Request:
    return Request(
        level=given.whole("level"),
        n=given.whole("n"),
        send=given.real("send"),
        first=given.maybe_real("first"),
        last=given.maybe_real("last"),
        prompt_tokens=given.maybe_whole("prompt_tokens"),
        cached_tokens=given.maybe_whole("cached_tokens"),
        output_tokens=given.maybe_whole("output_tokens"),
        chunks=given.maybe_whole("chunks"),
        finish=given.maybe_text("finish"),
        error=given.maybe_mapping("error"),
        offset=offset,
        line=line,
    )


def _level_end(given: Fields, offset: int, line: int) -> LevelEnd:
    window = Fields(given.mapping("window"))
    return LevelEnd(
        t=given.real("t"),
        level=given.whole("level"),
        concurrency=given.whole("concurrency"),
        window_start=window.real("start"),
        window_end=window.real("end"),
        window_by=window.maybe_text("by"),
        summary=given.mapping("summary"),
        exit=given.maybe_mapping("exit"),
        result=given.maybe_mapping("result"),
        prefix=given.maybe_mapping("prefix"),
        offset=offset,
        line=line,
    )


def _done(given: Fields, offset: int, line: int) -> Done:
    return Done(given.real("t"), given.is_true("ok"), given.maybe_real("cpu_s"), offset, line)


def _fatal(given: Fields, offset: int, line: int) -> Fatal:
    return Fatal(given.real("t"), given.maybe_text("message") or "", offset, line)


_BUILDERS: dict[str, Callable[[Fields, int, int], LoadRecord]] = {
    "hello": _hello,
    "level_start": _level_start,
    "cache": _cache,
    "output": _output,
    "result": _result,
    "progress": _progress,
    "request": _request,
    "level_end": _level_end,
    "done": _done,
    "fatal": _fatal,
}
