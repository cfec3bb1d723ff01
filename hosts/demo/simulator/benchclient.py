"""One streamed request after another, each over a connection of its own, with its times."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .benchprompts import Prompt

TIMEOUT_S = 600.0


@dataclass
class Answer:
    """Seconds from the request's sending; `gaps` between chunks."""

    input_len: int
    output_len: int = 0
    ttft: float = 0.0
    latency: float = 0.0
    gaps: list[float] = field(default_factory=list)
    error: str = ""


class Client:
    def __init__(self, base_url: str, route: str, model: str, body: dict[str, Any]) -> None:
        parts = urlsplit(base_url)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80
        self.route = route
        self.fixed = {
            **body,
            "model": model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    def ask(self, prompt: Prompt) -> Answer:
        answer = Answer(prompt.input_len)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            self._exchange(connection, prompt, answer)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            answer.error = f"{type(problem).__name__}: {problem}"
        finally:
            connection.close()
        return answer

    def _exchange(
        self, connection: http.client.HTTPConnection, prompt: Prompt, answer: Answer
    ) -> None:
        begun = time.perf_counter()
        body = json.dumps(self._body(prompt)).encode()
        connection.request("POST", self.route, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            answer.error = response.read(300).decode("utf-8", "replace")
            return
        last = begun
        for line in response:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            event = json.loads(line[6:])
            answer.output_len = (event.get("usage") or {}).get("completion_tokens") or (
                answer.output_len
            )
            if not _text(event):
                continue
            now = time.perf_counter()
            if not answer.ttft:
                answer.ttft = now - begun
            else:
                answer.gaps.append(now - last)
            last, answer.latency = now, now - begun

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        if self.route.endswith("/chat/completions"):
            single = isinstance(prompt.content, str)
            messages = [{"role": "user", "content": prompt.content}] if single else prompt.content
            return {
                **self.fixed, "messages": messages, "max_completion_tokens": prompt.output_len
            }  # fmt: skip
        return {**self.fixed, "prompt": prompt.content, "max_tokens": prompt.output_len}


def _text(event: dict[str, Any]) -> str:
    for choice in event.get("choices") or []:
        found = (choice.get("delta") or {}).get("content") or choice.get("text")
        if found:
            return str(found)
    return ""
