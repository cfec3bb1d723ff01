"""The result formats we read. A tool's JSON is one file and one line in `tools.py`.

What comes as text (blocks, boxes, tables) may stand in any paste and is read by `TextResults`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from runs.readers.results import guidellm_csv
from runs.readers.results.base import ResultReading
from runs.readers.results.jsondoc import read_json
from runs.readers.results.rows import Place
from runs.readers.results.tables import opens_table
from runs.readers.results.text import read_text
from runs.readers.results.tools import JSON_TOOLS

# Enough to tell a format: the telling keys stand near the beginning of every file.
HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Format:
    """A file of one kind. `sniff` looks at the first HEAD_BYTES; `read` never raises."""

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[bytes], ResultReading]


def _read_json(data: bytes) -> ResultReading:
    return read_json(data, JSON_TOOLS)


_NAME = re.compile(r"\s{0,8}\"?[\w ()（）/%.\-]{1,80}\"?[,;\t]")


def _is_csv(head: bytes) -> bool:
    """Tell a CSV by its first line, which has to name quantities that we know."""
    first, newline, _ = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    text = first.decode("utf-8", "replace").rstrip("\r")
    opened = opens_table(text, Place(0, 1), terminated=bool(newline))
    carried = _NAME.match(text) is None  # quoted, or behind a container's name
    return opened is not None and opened.style == "csv" and not carried


FORMATS: tuple[Format, ...] = (
    *(Format(tool.name, tool.sniff, _read_json) for tool in JSON_TOOLS),
    Format("guidellm-csv", guidellm_csv.sniff, guidellm_csv.read),
    Format("csv-table", _is_csv, read_text),
)


def find_format(head: bytes) -> Format | None:
    """Give the format of a file that is nothing but results, None when no format claims it."""
    head = head[:HEAD_BYTES]
    return next((each for each in FORMATS if each.sniff(head)), None)


def read_results(data: bytes) -> ResultReading | None:
    """Read a file that is nothing but results, None when no format claims it."""
    found = find_format(data[:HEAD_BYTES])
    return None if found is None else found.read(data)
