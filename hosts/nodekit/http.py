"""Ask a server on this node, from this node: no proxies, no redirects, bounded in time and size."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional

from . import request as req
from .address import host_and_port
from .errors import BadRequest

MAX_BODY_BYTES = 4 * 1024 * 1024
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD")


def ask(request: req.Json) -> Dict[str, Any]:
    host, port = host_and_port(req.text(request, "base_url"))
    wanted = request.get("requests")
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        raise BadRequest("'requests' must be a list of objects")
    checked = [_checked(one) for one in wanted]
    return {"responses": {one["name"]: _one(host, port, one) for one in checked}}


def _checked(one: req.Json) -> req.Json:
    path = req.text(one, "path")
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise BadRequest("'path' must begin with / and be plain ASCII")
    if req.text(one, "method") not in METHODS:
        raise BadRequest("'method' must be one of " + ", ".join(METHODS))
    req.whole(one, "max_bytes", least=0, most=MAX_BODY_BYTES)
    req.seconds(one, "timeout_s")
    req.text(one, "name")
    return one


def _one(host: str, port: int, one: req.Json) -> Dict[str, Any]:
    begun = time.monotonic()
    answer: Dict[str, Any] = {"status": None, "body": "", "truncated": False}
    connection = http.client.HTTPConnection(host, port, timeout=max(0.001, one["timeout_s"]))
    error: Optional[str] = None
    try:
        connection.connect()
        with _bell(connection.sock, begun + one["timeout_s"]):
            _exchange(connection, one, answer)
    except (OSError, http.client.HTTPException) as problem:
        error = _say(problem)
    finally:
        connection.close()
    took = time.monotonic() - begun
    if error is not None and took >= one["timeout_s"]:
        error = "timed out after {:g} s".format(one["timeout_s"])
    return {**answer, "seconds": round(took, 6), "error": error}


@contextmanager
def _bell(sock: socket.socket, deadline: float) -> Iterator[None]:
    """Cuts the socket when the time is up: a time-out per read would not end trickling bytes."""
    bell = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, [sock])
    bell.daemon = True
    bell.start()
    try:
        yield
    finally:
        bell.cancel()


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed by itself in this very moment


def _exchange(
    connection: http.client.HTTPConnection, one: req.Json, answer: Dict[str, Any]
) -> None:
    """Fills `answer` as far as it gets, so that half a body is still evidence."""
    given = one.get("json")
    body = None if given is None else json.dumps(given).encode()
    headers = {"Accept": "*/*", "Connection": "close"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    connection.request(one["method"], one["path"], body, headers)
    response = connection.getresponse()
    answer["status"] = response.status
    limit = one["max_bytes"]
    data = b""
    try:
        while len(data) <= limit:
            chunk = response.read1(65536)
            if not chunk:
                break
            data += chunk
    finally:
        answer["truncated"] = len(data) > limit
        answer["body"] = data[:limit].decode("utf-8", "replace")
    if response.length and len(data) <= limit:  # Content-Length promised more than came
        raise http.client.IncompleteRead(data, response.length)


def _say(problem: Exception) -> str:
    if isinstance(problem, ConnectionRefusedError):
        return "connection refused"
    if isinstance(problem, http.client.IncompleteRead):
        return "the answer ended early"
    text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return text or type(problem).__name__
