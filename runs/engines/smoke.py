"""The smoke test: a server is asked one question before anything is measured.

It finds a server that is healthy and answers nonsense: wrong weights, a broken kernel.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from runs.engines.base import JSON

_MAX_BODY = 512 * 1024
_QUESTION_S = 3.0
_GENERATION_S = 30.0


@dataclass(frozen=True, slots=True)
class Smoke:
    """A question, and what must stand in its answer as a word; empty: any text will do."""

    question: str = "What is 15 * 23?"
    answer: str = "345"

    def request(self, model: str) -> dict[str, JSON]:
        """Give the node kit's request `generation`.

        It `needs` a healthy server: one that still warms up would let it hang.
        """
        body: dict[str, JSON] = {
            "model": model,
            "messages": [{"role": "user", "content": self.question}],
            "max_tokens": 32,
            "temperature": 0,
        }
        return {
            "name": "generation",
            "method": "POST",
            "path": "/v1/chat/completions",
            "json": body,
            "timeout_s": _GENERATION_S,
            "max_bytes": _MAX_BODY,
            "needs": "health",
        }

    def holds(self, text: str) -> bool:
        """Tell whether the answer stands in the text as a word of its own: 345, not 1345."""
        if not self.answer:
            return bool(text.strip())
        return bool(re.search(rf"(?<!\w){re.escape(self.answer)}(?!\w)", text))

    def fault(self, text: str) -> str:
        """Say what is wrong with a text that does not hold the answer."""
        said = f"said {text[:80]!r}" if text else "generated nothing"
        without = f", without {self.answer}" if self.answer else ""
        return f"asked {self.question!r} it {said}{without}"


USUAL = Smoke()


def get(name: str, path: str, max_bytes: int = _MAX_BODY) -> dict[str, JSON]:
    """Give the node kit's request for one path of the server."""
    return {
        "name": name,
        "method": "GET",
        "path": path,
        "json": None,
        "timeout_s": _QUESTION_S,
        "max_bytes": max_bytes,
    }


def as_told(value: object) -> JSON:
    """Give a value of an answer as evidence: a plain one as it is, any other as its text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def json_object(answer: Mapping[str, object]) -> dict[str, object]:
    """Give the answer's JSON object; {} when it is none, has not come whole, or is no 200."""
    if answer.get("status") != 200 or answer.get("truncated"):
        return {}
    try:
        found = json.loads(str(answer.get("body") or ""))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def generated(answer: Mapping[str, object]) -> str:
    """Give the text of the completion, the reasoning included; '' when there is none."""
    choices = json_object(answer).get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return ""
    message = choices[0].get("message")
    parts = message if isinstance(message, dict) else {}
    texts = (
        parts.get("reasoning_content"),
        parts.get("reasoning"),
        parts.get("content"),
        choices[0].get("text"),
    )
    return " ".join(text for text in texts if isinstance(text, str))
