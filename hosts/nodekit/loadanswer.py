"""One request's answer: when its first and last text came, and what its usage says.

Chunks are not tokens: under speculation one chunk carries several. Tokens come from `usage` alone.
"""

from __future__ import annotations

import json
from array import array
from typing import Any, Dict, List, Optional, Tuple

from .loadstream import data_of

MAX_MESSAGE = 2000
MAX_WAITING = 8


class Answer:
    """Fed with events and the time each came. Times are monotonic seconds."""

    __slots__ = (
        "chunks",
        "error",
        "finish",
        "finished",
        "first",
        "gaps",
        "last",
        "usage",
        "waiting",
    )

    def __init__(self) -> None:
        self.first: Optional[float] = None
        self.last: Optional[float] = None
        self.chunks = 0
        self.gaps = array("d")  # seconds between chunks; those that came together are 0 apart
        self.finish: Optional[str] = None
        self.usage: Optional[Dict[str, Any]] = None
        self.finished = False  # [DONE] was seen
        self.error: Optional[str] = None  # the server's own words, sent inside the stream
        self.waiting: List[Tuple[bytes, float]] = []  # events to be looked at closer

    def take(self, event: bytes, now: float) -> None:
        """Counts an event, or lays it aside: an answer's last events come when the next request
        has to go out, so they are parsed after that (`settle`)."""
        last = self.last
        if last is None:
            self._read(event, now)
        elif not self.waiting and is_plain_text(event):
            self.chunks += 1
            self.gaps.append(now - last)
            self.last = now
        else:
            self.waiting.append((event, now))
            if len(self.waiting) >= MAX_WAITING:
                self.settle()

    def settle(self) -> None:
        """Reads what was laid aside."""
        waiting, self.waiting = self.waiting, []
        for event, now in waiting:
            self._read(event, now)

    def _read(self, event: bytes, now: float) -> None:
        data = data_of(event)
        if data is None:
            return
        if data.strip() == b"[DONE]":
            self.finished = True
            return
        try:
            value = json.loads(data)
        except ValueError:
            self.error = "not JSON: {!r}".format(data[:200])
            return
        if isinstance(value, dict):
            self._read_object(value, now)

    def _read_object(self, value: Dict[str, Any], now: float) -> None:
        if value.get("error") or value.get("object") == "error":
            self.error = message_in(value)
        usage = value.get("usage")
        if isinstance(usage, dict):
            self.usage = usage
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict):
                continue
            if isinstance(choice.get("finish_reason"), str):
                self.finish = choice["finish_reason"]
            if _text_in(choice):
                self._mark(now)

    def _mark(self, now: float) -> None:
        if self.last is None:
            self.first = now
        else:
            self.gaps.append(now - self.last)
        self.last = now
        self.chunks += 1


def is_plain_text(event: bytes) -> bool:
    """Whether an event surely carries text and nothing that ends the answer, told without parsing.

    Quotes inside JSON strings are escaped, so these needles match the structure only. False is
    merely "look closer": servers that write their JSON otherwise cost more, and count the same.
    """
    if b'"finish_reason":null' not in event:
        return False
    if b'"content":"' in event:
        return b'"content":""' not in event
    if b'"text":"' in event:
        return b'"text":""' not in event
    return b'"reasoning_content":"' in event and b'"reasoning_content":""' not in event


def _text_in(choice: Dict[str, Any]) -> bool:
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return bool(choice.get("text"))
    # vLLM and SGLang differ in what they call the thinking; a tool call is output as well.
    return any(delta.get(k) for k in ("content", "reasoning_content", "reasoning", "tool_calls"))


def message_in(value: Any) -> str:
    """The message of an error body, in either of the shapes servers use, or the body itself."""
    if isinstance(value, dict):
        inner = value.get("error")
        for holder in (inner, value):
            if isinstance(holder, dict) and isinstance(holder.get("message"), str):
                return str(holder["message"])[:MAX_MESSAGE]
        for said in (inner, value.get("detail")):
            if isinstance(said, str):
                return said[:MAX_MESSAGE]
    return json.dumps(value)[:MAX_MESSAGE]


def message_of_body(body: bytes) -> str:
    try:
        return message_in(json.loads(body))
    except ValueError:
        return body.decode("utf-8", "replace").strip()[:MAX_MESSAGE]


def count_in(usage: Optional[Dict[str, Any]], key: str) -> Optional[int]:
    """A token count, or None when the server did not tell it."""
    value = usage.get(key) if usage else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def cached_in(usage: Optional[Dict[str, Any]]) -> Optional[int]:
    details = usage.get("prompt_tokens_details") if usage else None
    return count_in(details, "cached_tokens") if isinstance(details, dict) else None
