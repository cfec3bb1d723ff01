"""The result formats we read: one file each, one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from runs.readers.results.base import ResultReading

# Enough to tell a format: the telling keys stand near the beginning of every file.
HEAD_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Format:
    """A file of one kind. `sniff` looks at the first HEAD_BYTES; `read` never raises."""

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[bytes], ResultReading]


FORMATS: tuple[Format, ...] = ()


def find_format(head: bytes) -> Format | None:
    """Give the format of a file that is nothing but results, None when no format claims it."""
    head = head[:HEAD_BYTES]
    return next((each for each in FORMATS if each.sniff(head)), None)


def read_results(data: bytes) -> ResultReading | None:
    """Read a file that is nothing but results, None when no format claims it."""
    found = find_format(data[:HEAD_BYTES])
    return None if found is None else found.read(data)
