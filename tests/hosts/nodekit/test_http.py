"""The kit's HTTP questions against a small server with every habit we have met."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .conftest import Node


class Habits(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        getattr(self, "get_" + self.path.strip("/"))()

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(200, json.dumps({"got": json.loads(sent), "path": self.path}).encode())

    def get_health(self) -> None:
        self._send(200, b"")

    def get_warming(self) -> None:
        self._send(503, b'{"message": "starting"}')

    def get_big(self) -> None:
        self._send(200, b"x" * 3_000_000)

    def get_moved(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/health")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def get_odd(self) -> None:
        self._send(200, b"caf\xe9")

    def get_silent(self) -> None:
        self.server.released.wait(30)  # type: ignore[attr-defined]

    def get_trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.server.released.wait(0.05):  # type: ignore[attr-defined]
            try:
                self.wfile.write(b".")
            except OSError:
                return

    def get_cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # the kit had enough

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Habits)
    made.released = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.released.set()  # type: ignore[attr-defined]
    made.shutdown()
    thread.join()
    made.server_close()


def _get(path: str, /, **more: Any) -> dict[str, Any]:
    question = {"name": path, "method": "GET", "path": "/" + path, "json": None}
    return {**question, "timeout_s": 5, "max_bytes": 10_000} | more


def _ask(node: Node, server: str, *questions: dict[str, Any]) -> Any:
    return node.call("http", {"base_url": server, "requests": list(questions)})["responses"]


def test_it_asks_one_after_another(node: Node, server: str) -> None:
    post = {"name": "generate", "method": "POST", "path": "/v1/x?y=1", "json": {"a": "é"}}
    answers = _ask(
        node, server, _get("health"), {**post, "timeout_s": 5, "max_bytes": 1000}, _get("warming")
    )
    assert list(answers) == ["health", "generate", "warming"]
    health = answers["health"]
    assert (health["status"], health["body"], health["truncated"]) == (200, "", False)
    assert health["error"] is None
    assert 0 < health["seconds"] < 5
    assert json.loads(answers["generate"]["body"]) == {"got": {"a": "é"}, "path": "/v1/x?y=1"}
    assert (answers["warming"]["status"], answers["warming"]["error"]) == (503, None)
    assert "starting" in answers["warming"]["body"]


def test_a_big_body_is_cut_at_its_limit(node: Node, server: str) -> None:
    answer = _ask(node, server, _get("big", max_bytes=1000))["big"]
    assert (len(answer["body"]), answer["truncated"], answer["error"]) == (1000, True, None)


def test_a_body_of_exactly_the_limit_is_whole(node: Node, server: str) -> None:
    answer = _ask(node, server, _get("big", max_bytes=3_000_000))["big"]
    assert (len(answer["body"]), answer["truncated"]) == (3_000_000, False)


def test_it_follows_no_redirect_and_no_proxy(node: Node, server: str) -> None:
    node.env["http_proxy"] = "http://127.0.0.1:1"
    assert _ask(node, server, _get("moved"))["moved"]["status"] == 302


def test_invalid_utf8_is_replaced(node: Node, server: str) -> None:
    assert _ask(node, server, _get("odd"))["odd"]["body"] == "caf\ufffd"


def test_refused_is_said(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer = _ask(node, f"http://127.0.0.1:{port}", _get("health"))["health"]
    assert (answer["status"], answer["error"]) == (None, "connection refused")


@pytest.mark.parametrize(("path", "status"), [("silent", None), ("trickle", 200)])
def test_its_time_is_up_whatever_the_server_does(
    node: Node, server: str, path: str, status: int | None
) -> None:
    begun = time.monotonic()
    answer = _ask(node, server, _get(path, timeout_s=0.5))[path]
    assert time.monotonic() - begun < 4
    assert (answer["status"], answer["error"]) == (status, "timed out after 0.5 s")


def test_half_an_answer_is_an_error_with_the_half_kept(node: Node, server: str) -> None:
    answer = _ask(node, server, _get("cut"))["cut"]
    assert (answer["status"], answer["body"]) == (200, "half")
    assert answer["error"] == "the answer ended early"


@pytest.mark.parametrize(
    "change",
    [
        {"path": "health"}, {"path": "/a b"}, {"path": "/a\r\nX: y"}, {"method": "BREW"},
        {"timeout_s": None}, {"max_bytes": -1}, {"name": None}, {"path": "/é"},
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_is_refused(node: Node, change: dict[str, Any]) -> None:
    request = {"base_url": "http://127.0.0.1:1", "requests": [_get("health", **change)]}
    assert node.ask("http", request)[0] == 2


@pytest.mark.parametrize(
    "base_url", ["127.0.0.1:80", "https://127.0.0.1:1", "http://h", "http://h:x", "http://h:1/p"]
)
def test_an_address_that_cannot_be_is_refused(node: Node, base_url: str) -> None:
    assert node.ask("http", {"base_url": base_url, "requests": []})[0] == 2
