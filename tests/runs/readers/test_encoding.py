"""Texts with two or four bytes a character, and files that are packed."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.readers import read
from runs.readers.encoding import as_utf8, encoding_of
from runs.readers.text import read_file

LINE = (
    "[2026-05-12 20:35:0{}] Decode batch, #running-req: 8, #token: 1001, token usage: 0.10, "
    "cuda graph: True, gen throughput (token/s): {}.50, #queue-req: 0\r\n"
)
TEXT = "并发 8:\r\n" + LINE.format(1, 800) + LINE.format(2, 900)


def speeds(data: bytes) -> list[float | None]:
    return [each.output_tps for each in read(data, "x").samples]


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-8", "utf-8-sig"])
def test_a_text_with_a_mark_is_read(name: str) -> None:
    assert speeds(TEXT.encode(name)) == [800.5, 900.5]


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_a_text_without_a_mark_is_told_by_its_zeros(name: str) -> None:
    assert speeds(LINE.format(1, 800).encode(name)) == [800.5]


@pytest.mark.parametrize("data", [b"", b"\0" * 600, b"\0\0" + TEXT.encode(), b"a\0b", b"\xff\xfea"])
def test_zeros_alone_are_no_encoding(data: bytes) -> None:
    assert encoding_of(data) in (None, "utf-16-le" if data[:2] == b"\xff\xfe" else None)
    read(data, "x")


@given(st.integers(1, 400), st.sampled_from(["utf-16", "utf-16-le", "utf-8"]))
def test_pieces_of_any_size_give_the_same(size: int, name: str) -> None:
    data = LINE.format(1, 800).encode(name) * 3
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    assert b"".join(as_utf8(pieces)) == b"".join(as_utf8([data]))


def test_a_packed_file_is_named_and_not_guessed_at(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.log", TEXT)
    for data, word in ((gzip.compress(TEXT.encode()), "gzip"), (packed.getvalue(), "zip")):
        path = tmp_path / "a.bin"
        path.write_bytes(data)
        reading = read_file(path)
        assert reading.kind == "unknown"
        assert [each.reason for each in reading.damaged] == [
            f"a.bin is packed with {word}: unpack it, and read what is in it"
        ]


def test_a_mark_before_bytes_of_one_letter_each_is_no_encoding() -> None:
    assert (
        encoding_of(b"\xff\xfe\xed\xa0\x80\n[2026-11-29 16:37:00] Decode batch, #running-req: 4")
        is None
    )
