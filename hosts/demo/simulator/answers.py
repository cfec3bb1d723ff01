"""JSON bodies and stream frames as SGLang 0.5.20 words them. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

DONE = b"data: [DONE]\n\n"


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def error(message: str, kind: str, status: int) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": status}


def validation_error(route: str, detail: dict[str, Any]) -> dict[str, Any]:
    text = f"1 validation error:\n  {detail!r}\n\n    POST {route} [{detail!r}]"
    return error(text, "Bad Request", 400)


def usage(prompt: int, completion: int, cached: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached} if cached else None,
        "reasoning_tokens": 0,
    }


def _metadata(completion: int) -> dict[str, Any]:
    part = {"version": "default", "start": 0, "end": completion}
    return {"weight_version": "default", "weight_versions": [part]}


@dataclass(frozen=True)
class Style:
    """The answer's identity; builds its parts for chat or for completions."""

    chat: bool
    rid: str
    model: str
    created: int

    def _frame(self, kind: str, choices: str, tail: str) -> bytes:
        head = f'{{"id":"{self.rid}","object":"{kind}","created":{self.created},'
        model = json.dumps(self.model)
        return f'data: {head}"model":{model},"choices":{choices}{tail}}}\n\n'.encode(
            "utf-8", "replace"
        )

    def role(self) -> bytes:
        """The first frame of a chat; completions have none."""
        if not self.chat:
            return b""
        return self._chat_frame('"role":"assistant","content":""', None)

    def tokens(self, text: str, finish: str | None) -> bytes:
        """New text; in completions the last frame also carries the reason."""
        quoted = json.dumps(text, ensure_ascii=False)
        if self.chat:
            return self._chat_frame(f'"content":{quoted}', None)
        choice = (
            f'[{{"index":0,"text":{quoted},"logprobs":null,'
            f'"finish_reason":{json.dumps(finish)},"matched_stop":null}}]'
        )
        return self._frame("text_completion", choice, ',"usage":null')

    def finish(self, reason: str) -> bytes:
        """The frame that names the reason; only chat has one of its own."""
        return self._chat_frame("", reason) if self.chat else b""

    def _chat_frame(self, delta: str, finish: str | None) -> bytes:
        comma = "," if delta else ""
        choice = (
            f'[{{"index":0,"delta":{{"reasoning_content":null{comma}{delta}}},"logprobs":null,'
            f'"finish_reason":{json.dumps(finish)},"matched_stop":null}}]'
        )
        return self._frame("chat.completion.chunk", choice, "")

    def usage_frame(self, counts: dict[str, Any]) -> bytes:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return self._frame(kind, "[]", ',"usage":' + dump(counts).decode())

    def whole(self, text: str, finish: str, counts: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        choice: dict[str, Any] = {"index": 0}
        if self.chat:
            message = {"role": "assistant", "content": text}
            choice["message"] = {**message, "reasoning_content": None, "tool_calls": None}
        else:
            choice["text"] = text
        choice.update(logprobs=None, finish_reason=finish, matched_stop=None)
        return {
            "id": self.rid,
            "object": "chat.completion" if self.chat else "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
            "usage": counts,
            "metadata": _metadata(counts["completion_tokens"]),
        }
