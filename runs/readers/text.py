"""Find out what a text is, and read it."""

from dataclasses import replace
from pathlib import Path

from runs.engines.base import Damaged, Event
from runs.readers.broken import begins_like_json
from runs.readers.encoding import as_utf8, encoding_of, packing_of
from runs.readers.paste import read_paste, read_pieces
from runs.readers.reading import Reading
from runs.readers.results.registry import HEAD_BYTES, find_format
from runs.readers.results_csv import is_results_csv, read_results_csv
from runs.readers.stream import CHUNK, TextReader
from runs.readers.whole import read_whole

# Beyond this a file is read in pieces, and of its records only so many are kept.
LARGE = 64 * 2**20
KEPT = 100_000


def read(data: bytes, name: str) -> Reading:
    """Read any text. Nothing raises: what cannot be read is counted, and unknown is a kind."""
    packed = packing_of(data)
    if packed is not None:
        return _unread(name, f"{name} is packed with {packed}: unpack it, and read what is in it")
    if encoding_of(data) is not None:
        data = b"".join(as_utf8([data]))
    if is_results_csv(data):
        return read_results_csv(data, name)
    found = find_format(data)
    if found is not None and (_is_json(data) or not _is_log(data[:HEAD_BYTES])):
        results = found.read(data)
        mixed = bool(results.damaged) and _is_log(data)
        if not mixed and (results.rows or results.damaged or results.context):
            return read_whole(results, name)
    return read_paste(data, name)


def read_file(path: Path) -> Reading:
    """Read a file of any size; of a large one only so much that memory stays bounded.

    Raises OSError.
    """
    size = path.stat().st_size
    if size <= LARGE:
        return read(path.read_bytes(), path.name)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        file.seek(0)
        found = None if _is_log(head) else find_format(head)
        if packing_of(head) is not None:
            return read(head, path.name)
        if found is not None and not head[:1].isdigit() and b"\n{" not in head:
            return _too_large(path.name, size, found.name)
        if b"\n" not in head and begins_like_json(head):
            return _too_large(path.name, size, "JSON")
        return read_pieces(as_utf8(iter(lambda: file.read(CHUNK), b"")), path.name, KEPT)


def _too_large(name: str, size: int, form: str) -> Reading:
    return _unread(
        name, f"{name} holds {size // 2**20} MiB; a {form} file is read up to {LARGE // 2**20} MiB"
    )


def _unread(name: str, reason: str) -> Reading:
    return replace(read_paste(b"", name), damaged=(Damaged(reason, "", 0, 1),))


def _is_json(data: bytes) -> bool:
    head = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    return head[:1] in (b"{", b"[") and head[:3] != b"[20"


def _is_log(head: bytes) -> bool:
    """Tell a log from a table of commas: an engine's line has its commas in the same places."""
    reader = TextReader(None)
    told = [*reader.feed(head), *reader.finish()]
    return any(each.engine is not None and not isinstance(each.record, Event) for each in told)
