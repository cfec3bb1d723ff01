"""How fast the reader is, beside `grep -c` on the same file in the same run.

    python -m benchmarks.read_speed [--lines 1000000] [--form journal|plain] [--file FILE]

A file is made unless one is given: half decode lines, the other half prefill lines, requests and
notes, as an SGLang server behind journald prints them. Resident memory is the reader's peak.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from runs.engines.base import Sample
from runs.readers.stream import CHUNK, read_stream

PREFIX = "Nov 29 {clock} gpu-node-07 sglang-qwen[4321]: "


def lines(count: int, form: str) -> Iterator[str]:
    """Half decode lines; of the others, in turn, requests, prefills, notes and an event."""
    for number in range(count):
        second = number // 30
        clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        head = PREFIX.format(clock=clock) if form == "journal" else ""
        yield f"{head}[2026-11-29 {clock}{_rest(number)}\n"


def _rest(number: int) -> str:
    if number % 2 == 0:
        return (
            f" TP0] Decode batch, #running-req: {number % 64}, #full token: {number % 400000}, "
            f"full token usage: 0.{number % 90 + 10}, mamba num: {number % 80}, mamba usage: 0.31, "
            f"accept len: 2.{number % 90 + 10}, accept rate: 0.62, cuda graph: True, gen "
            "throughput "
            f"(token/s): {number % 4000}.17, #queue-req: {number % 3}"
        )
    kind = number // 2 % 10
    if kind < 6:
        return (
            f'] INFO:     127.0.0.1:{number % 60000} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        )
    if kind < 8:
        return (
            f" TP0] Prefill batch, #new-seq: 1, #new-token: {number % 9000}, #cached-token: 0, "
            "full "
            f"token usage: 0.14, mamba usage: 0.20, #running-req: {number % 64}, #queue-req: 0, "
            "#pending-token: 0, cuda graph: False, input throughput (token/s): 15734.14"
        )
    if kind == 8:
        return f" TP0] Request {number:x} was aborted by its client while it was waiting in line"
    full = " TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
    return f"{full}#new_token_ratio: 0.4012 -> 0.5520"


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            yield data


def measure(path: Path) -> None:
    size, count = path.stat().st_size, sum(chunk.count(b"\n") for chunk in chunks(path))
    began, cpu = time.perf_counter(), time.process_time()
    found: Counter[str] = Counter()
    speed = 0.0
    for told in read_stream(chunks(path)):
        record = told.record
        if isinstance(record, Sample):
            found[record.phase] += 1
            if record.phase == "decode":
                speed += record.output_tps or 0.0
        else:
            found[type(record).__name__.lower()] += 1
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    began = time.perf_counter()
    grep = subprocess.run(
        ["grep", "-c", "Decode batch", str(path)], capture_output=True, text=True, check=False
    )
    grepped = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{size / 1e6:.1f} MB, {count:,} lines: {dict(found)}")
    print(
        f"reader: {wall:.2f} s ({cpu:.2f} s of CPU), {count / wall:,.0f} lines/s, "
        f"{size / 1e6 / wall:.1f} MB/s, {peak:.0f} MB resident"
    )
    grep_count = grep.stdout.strip()
    print(f"grep -c: {grep_count} decode lines in {grepped:.2f} s, {count / grepped:,.0f} lines/s")
    agree = int(grep.stdout or 0) == found["decode"]
    print(f"decode lines {'agree' if agree else 'DIFFER'}; their throughputs add up to {speed:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("journal", "plain"), default="journal")
    parser.add_argument("--file", type=Path)
    told = parser.parse_args()
    if told.file:
        measure(told.file)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        with path.open("w") as file:
            file.writelines(lines(told.lines, told.form))
        measure(path)


if __name__ == "__main__":
    main()
