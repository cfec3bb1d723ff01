"""Answers of real engines, in every framing a server may choose.

The files in answers/ are as curl printed them: headers, then the body already without its chunks.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "answers"
STREAMS = [
    f"{engine}.{api}_stream" for engine in ("sglang", "vllm") for api in ("chat", "completions")
]
ERRORS = ["sglang.err_context_length", "vllm.err_unknown_model"]


def parts(name: str) -> tuple[bytes, bytes]:
    head, body = (FOLDER / f"{name}.http").read_bytes().replace(b"\r\n", b"\n").split(b"\n\n", 1)
    return head.replace(b"\n", b"\r\n"), body.rstrip(b"\n") + b"\n\n" * body.startswith(b"data:")


def events(name: str) -> list[bytes]:
    return [event + b"\n\n" for event in parts(name)[1].split(b"\n\n") if event.strip()]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked(name: str) -> list[bytes]:
    """The answer's sends: head with the first event, one event each, the end."""
    head, _ = parts(name)
    sends = [chunk(event) for event in events(name)]
    return [head + b"\r\n\r\n" + sends[0], *sends[1:], b"0\r\n\r\n"]


def counted(name: str) -> bytes:
    head, body = parts(name)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(
        (b"transfer-encoding", b"content-length"))]  # fmt: skip
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body


def until_close(name: str) -> bytes:
    head, body = parts(name)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(
        (b"transfer-encoding", b"content-length"))]  # fmt: skip
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body
