"""A program that writes numbered server-log lines at a steady rate; run on a node by `ingest`.

    python3 log_writer.py LINES_PER_SECOND SECONDS

Every tenth line is a decode line. Each line carries its number, so that a missing or doubled one
is seen. Standard library only.
"""

from __future__ import annotations

import sys
import time

TICK_S = 0.02
DECODE = (
    "[2026-11-29 12:00:00 TP0] Decode batch, #running-req: 16, #token: {}, token usage: 0.41, "
    "accept len: 2.61, accept rate: 0.54, cuda graph: True, gen throughput (token/s): {}.25, "
    "#queue-req: 0\n"
)
OTHER = '[2026-11-29 12:00:00] INFO:     127.0.0.1:{} - "POST /v1/completions HTTP/1.1" 200 OK\n'


def block(first: int, count: int) -> str:
    """Lines ``first`` … ``first + count - 1``."""
    return "".join(
        DECODE.format(n, n % 4000) if n % 10 == 0 else OTHER.format(n)
        for n in range(first, first + count)
    )


def main() -> None:
    rate, seconds = int(sys.argv[1]), float(sys.argv[2])
    total, written = int(rate * seconds), 0
    began = time.monotonic()
    while written < total:
        due = min(total, int((time.monotonic() - began) * rate))
        if due > written:
            sys.stdout.write(block(written, due - written))
            sys.stdout.flush()
            written = due
        time.sleep(TICK_S)


if __name__ == "__main__":
    main()
