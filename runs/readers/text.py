"""Find out what a text is, and read it."""

from runs.engines.base import Event
from runs.readers.paste import read_paste
from runs.readers.reading import Reading
from runs.readers.results.registry import HEAD_BYTES, find_format
from runs.readers.results_csv import is_results_csv, read_results_csv
from runs.readers.stream import TextReader
from runs.readers.whole import read_whole


def read(data: bytes, name: str) -> Reading:
    """Read any text. Nothing raises: what cannot be read is counted, and unknown is a kind."""
    if is_results_csv(data):
        return read_results_csv(data, name)
    found = find_format(data)
    if found is not None and (_is_json(data) or not _is_log(data[:HEAD_BYTES])):
        results = found.read(data)
        if results.rows or results.damaged or results.context:
            return read_whole(results, name)
    return read_paste(data, name)


def _is_json(data: bytes) -> bool:
    return data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and data[:3] != b"[20"


def _is_log(head: bytes) -> bool:
    """Tell a log from a table of commas: an engine's line has its commas in the same places."""
    reader = TextReader(None)
    told = [*reader.feed(head), *reader.finish()]
    return any(each.engine is not None and not isinstance(each.record, Event) for each in told)
