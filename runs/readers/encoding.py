"""Texts that are no UTF-8: two or four bytes a character are rewritten, packed files are named."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 512
_PACKED = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)


def encoding_of(head: bytes) -> str | None:
    """Name the encoding of a text with more than a byte a character; None for any other.

    A mark alone is no proof, since any bytes may begin so: its letters have zeros beside them.
    Without a mark a text of plain letters tells it by every other byte being zero.
    """
    for mark, name in _MARKS:
        if head.startswith(mark) and 0 in head[len(mark) : _LOOKED_AT]:
            return name
    head = head[:_LOOKED_AT]
    half = len(head) // 2
    if half < 8:
        return None
    for zeros, letters, name in ((1, 0, "utf-16-le"), (0, 1, "utf-16-be")):
        if head[zeros::2].count(0) * 10 >= half * 9 and not head[letters::2].count(0):
            return name
    return None


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Give a text's bytes as UTF-8, in pieces; what already is (or is no text) stays as it is."""
    each = iter(pieces)
    first = next(each, b"")
    while len(first) < _LOOKED_AT and (more := next(each, b"")):
        first += more
    name = encoding_of(first)
    if name is None:
        yield first
        yield from each
        return
    decoder = codecs.getincrementaldecoder(name)("replace")
    for piece in chain([first], each):
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def packing_of(head: bytes) -> str | None:
    """Name what a file was packed with, by its first bytes."""
    return next((name for mark, name in _PACKED if head.startswith(mark)), None)
