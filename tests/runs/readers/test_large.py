"""Texts of any size and kind: bounded memory, clear words, nothing invented."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmarks.read_speed import lines
from runs.readers import read
from runs.readers import text as reading_text
from runs.readers.paste import read_pieces
from runs.readers.text import read_file

ROOT = Path(__file__).parents[3]
LINE = next(lines(1, "plain"))


def test_a_large_file_is_read_in_pieces_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_text, "LARGE", 1000)
    monkeypatch.setattr(reading_text, "KEPT", 10)
    path = tmp_path / "server.log"
    path.write_text("".join(lines(200, "journal")))
    found = read_file(path)
    assert len(found.samples) == 10
    assert found.context["samples_not_kept"] == 110
    assert found.kind == "sglang-log"


def test_a_json_document_that_is_too_large_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_text, "LARGE", 1000)
    path = tmp_path / "genai.json"
    path.write_bytes((ROOT / "tests/field_cases/61-genai-bench-json-in-seconds.json").read_bytes())
    (damaged,) = read_file(path).damaged
    assert "genai.json" in damaged.reason
    assert "read up to" in damaged.reason


def test_a_line_of_ten_megabytes_is_damage_and_the_next_line_is_read() -> None:
    found = read(b"x" * 10_000_000 + b"\n" + LINE.encode(), "x")
    assert [each.reason for each in found.damaged] == ["line too long"]
    assert len(found.damaged[0].text) < 5000
    assert [each.line for each in found.samples] == [2]


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"backend": "sglang", "duration": 1e400, "completed": NaN}',
        b"\x00" * 5000,
        "\u202e\ufeff\u2028".encode() * 500,
        b"\xed\xa0\x80" * 500,
        b"\r" * 5000,
        b", " * 20_000,
        b"| " * 20_000,
        b"# " * 20_000,
        b"a: " * 20_000,
        b"\\\n" * 5000,
        b"> " * 20_000,
        b"==> a <==\n" * 3000,
    ],
    ids=lambda data: repr(data[:8]),
)
def test_hostile_texts_are_read_in_little_time(data: bytes) -> None:
    begin = time.process_time()
    json.dumps(read(data, "x").as_json(), allow_nan=False)
    assert time.process_time() - begin < 5


def test_time_grows_with_the_length_and_no_faster() -> None:
    def seconds(count: int) -> float:
        text = "".join(lines(count, "journal")).encode()
        begin = time.process_time()
        read_pieces([text], "x", None)
        return time.process_time() - begin

    seconds(500)
    assert seconds(16_000) < 12 * seconds(4_000) + 0.5


SCRIPT = """
import resource
from benchmarks.read_speed import lines
from runs.readers.stream import read_stream
pieces = ("".join(lines(2000, "journal")).encode() for _ in range({pieces}))
print(sum(1 for _ in read_stream(pieces)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_length() -> None:
    peaks = []
    for pieces in (5, 50):
        command = [sys.executable, "-c", SCRIPT.format(pieces=pieces)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
        )
        records, peak = map(int, done.stdout.split())
        assert records == pieces * 1300
        peaks.append(peak)
    assert peaks[1] < 1.15 * peaks[0] + 4096


def told(*arguments: str) -> str:
    out = io.StringIO()
    call_command("read", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_an_array_for_one_file_and_for_several(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LINE)
    (one,) = json.loads(told(str(path), "--json"))
    assert one["kind"] == "sglang-log"
    assert len(json.loads(told(str(path), str(path), "--json"))) == 2


def test_the_command_says_in_words_what_it_found(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LINE + LINE[:60] + "\n")
    words = told(str(path))
    assert "a.log: sglang-log, 1 samples" in words
    assert "line 2 damaged" in words
    assert "caveat truncated-lines" in words


def test_the_command_names_a_file_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nothing\.log cannot be read"):
        told(str(tmp_path / "nothing.log"))
