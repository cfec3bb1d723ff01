"""JSON files of any tool: one document, a list, or one object a line, appended to or cut.

Nothing raises: what is no JSON, too large or claimed by nobody is a damaged record with its line.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from runs.engines.base import JSON, Damaged
from runs.readers.results.base import ResultReading, ResultRow
from runs.readers.results.client import defaults
from runs.readers.results.rows import Place, mark_attempts, shared
from runs.readers.results.safe import clean_text

# A parsed document takes some ten times its text. Per-request arrays make files of 100 MB; no
# summary is that long.
DOCUMENT_LIMIT = 32 * 1024 * 1024
_ROWS_LIMIT = 20_000
_DAMAGED_LIMIT = 1_000
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[\s,\ufeff]*")

Object: TypeAlias = dict[str, JSON]
# Written as a string because JSON is one.
Document: TypeAlias = "tuple[Place, JSON | Damaged]"


@dataclass(frozen=True, slots=True)
class JsonTool:
    """A tool that writes JSON.

    `marks` are keys, in bytes, that tell the file by its head; `claims` tells one object;
    `read` gives its rows; `settings` gives settings that hold beside any row.
    """

    name: str
    marks: re.Pattern[bytes]
    claims: Callable[[Object], bool]
    read: Callable[[Object, Place], list[ResultRow]]
    settings: Callable[[Object], dict[str, JSON]]

    def sniff(self, head: bytes) -> bool:
        return looks_like_json(head) and self.marks.search(head) is not None


def looks_like_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def marks(*keys: str) -> re.Pattern[bytes]:
    """Give the pattern of a file whose head has all of these keys, in any order."""
    each = (rb'(?=[\s\S]*"' + key.encode() + rb'"\s{0,4}:)' for key in keys)
    return re.compile(rb"\A" + b"".join(each))


def read_json(data: bytes, tools: tuple[JsonTool, ...]) -> ResultReading:
    """Read every object of the file that one of the tools claims."""
    rows: list[ResultRow] = []
    damaged: list[Damaged] = []
    beside: list[dict[str, JSON]] = []
    ignored = 0
    for place, found in documents(data):
        if isinstance(found, Damaged):
            damaged += [found] if len(damaged) < _DAMAGED_LIMIT else []
            continue
        for each in found if isinstance(found, list) else [found]:
            taken = read_object(each, place, tools)
            if taken is None or len(rows) >= _ROWS_LIMIT:
                ignored += 1
            else:
                rows += taken[0]
                beside.append(taken[1])
    rows = mark_attempts(rows)
    context = shared(row.context for row in rows) or shared(beside)
    return ResultReading(tuple(rows), context, tuple(damaged), (), ignored)


def read_object(
    found: JSON, place: Place, tools: tuple[JsonTool, ...]
) -> tuple[list[ResultRow], dict[str, JSON]] | None:
    """Give the rows and settings of one object, None when no tool claims it."""
    if not isinstance(found, dict):
        return None
    for tool in tools:
        if tool.claims(found):
            settings = tool.settings(found)
            rows = tool.read(found, place)
            for row in rows:
                for key, value in settings.items():
                    row.context.setdefault(key, value)
                told = defaults(tool.name, row.context)
                if told:
                    row.context["defaults"] = told
            return rows, settings
    return None


def documents(data: bytes) -> Iterator[Document]:
    """Give each JSON document with its place; a broken one ends at the next line that opens one."""
    if len(data) <= DOCUMENT_LIMIT:
        yield from _documents(data, Place(0, 1))
        return
    offset, line = 0, 1
    while offset < len(data):
        end = data.find(b"\n", offset)
        end = len(data) if end < 0 else end + 1
        if end - offset > DOCUMENT_LIMIT:
            yield Place(offset, line), _too_large(data, offset, end - offset, line)
        elif looks_like_json(data[offset:end]):
            found = next(iter(_documents(data[offset:end], Place(offset, line))))
            if line == 1 and isinstance(found[1], Damaged):
                # Laid out over lines: only the whole would be a document.
                yield Place(0, 1), _too_large(data, 0, len(data), 1)
                return
            yield found
        offset, line = end, line + 1


def _documents(data: bytes, place: Place) -> Iterator[Document]:
    text = data.decode("utf-8", "replace")
    position, offset, line = _skip(text, 0), place.offset, place.line
    before = 0
    while position < len(text):
        line += text.count("\n", before, position)
        before, start = position, place.offset + _bytes(data, text, position)
        offset = start
        try:
            found, end = _DECODER.raw_decode(text, position)
            yield Place(offset, line), found
        except (ValueError, RecursionError, MemoryError) as problem:
            shown = clean_text(text[position : position + 200])
            yield Place(offset, line), Damaged(_reason(problem, line), shown, offset, line)
            end = _next_opening(text, position)
        position = _skip(text, end)


def _bytes(data: bytes, text: str, position: int) -> int:
    """Give the byte offset of a character; in ASCII, as nearly always, they are the same."""
    if len(data) == len(text):
        return position
    return len(text[:position].encode("utf-8"))


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()


def _next_opening(text: str, position: int) -> int:
    match = re.compile(r"\n(?=[{\[])").search(text, position + 1)
    return len(text) if match is None else match.end()


def _reason(problem: Exception, line: int) -> str:
    if isinstance(problem, RecursionError):
        return "JSON nested too deep to be read"
    if isinstance(problem, json.JSONDecodeError):
        return f"no whole JSON: {problem.msg} (line {problem.lineno}, column {problem.colno})"
    if isinstance(problem, ValueError) and "int_max_str_digits" in str(problem):
        return "JSON with a number of too many digits to be read"
    return f"no JSON that can be read: {clean_text(str(problem), 120)}"


def _too_large(data: bytes, offset: int, size: int, line: int) -> Damaged:
    shown = clean_text(data[offset : offset + 200].decode("utf-8", "replace"))
    limit = DOCUMENT_LIMIT // 2**20
    reason = f"a JSON document of {size / 2**20:.0f} MB; at most {limit} MB are read"
    return Damaged(reason, shown, offset, line)
