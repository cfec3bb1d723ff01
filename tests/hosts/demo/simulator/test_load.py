"""A measured load: what clients count must be what the log says."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest

from hosts.demo.simulator.text import pieces

from .conftest import Launch

CONCURRENCY = 8
WARM_S = 1.0
MEASURED_S = 5.0


async def test_clients_measure_what_the_log_says(launch: Launch) -> None:
    server = await asyncio.to_thread(
        launch,
        *("--speculative-algorithm", "NEXTN", "--speculative-num-steps", "2"),
        *("--speculative-eagle-topk", "1", "--decode-log-interval", "10", "--random-seed", "11"),
    )
    end = time.monotonic() + WARM_S + MEASURED_S
    counts = await asyncio.gather(*(_client(server.port, n, end) for n in range(CONCURRENCY)))
    client_tps = sum(counts) / MEASURED_S
    lines = re.findall(
        r"#running-req: 8, .*accept len: ([\d.]+).*gen throughput \(token/s\): ([\d.]+)", server.log
    )
    steady = [float(tps) for _, tps in lines[4:]]
    log_tps = sum(steady) / len(steady)
    assert len(steady) >= 10
    assert client_tps == pytest.approx(log_tps, rel=0.05)
    assert log_tps == pytest.approx(830, rel=0.08)
    lengths = [float(length) for length, _ in lines]
    assert sum(lengths) / len(lengths) == pytest.approx(2.48, abs=0.08)


async def _client(port: int, number: int, end: float) -> int:
    """One closed-loop client; counts the tokens that arrive while measuring."""
    body = {
        "messages": [{"role": "user", "content": f"client {number}: tell me about trains"}],
        "max_tokens": 8000,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    data = json.dumps(body).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    received: list[str] = []
    while time.monotonic() < end:
        line = (await reader.readline()).strip()
        if line.startswith(b"data: {") and time.monotonic() >= end - MEASURED_S:
            delta = json.loads(line[6:])["choices"][0]["delta"]
            received.append(delta.get("content") or "")
    writer.close()
    return len(pieces("".join(received)))  # its pieces are its tokens
