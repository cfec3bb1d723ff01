"""Own prompts: JSON lines, each a {"prompt": …} or a {"messages": [{"role", "content"}, …]}."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from runs.drivers.checks import WorkloadError
from runs.engines.base import JSON

FILE = "file"  # the prompt set that stands for them
NAME = "prompts.jsonl"
MAX_BYTES = 2 * 1024 * 1024
MAX_LINES = 50_000
MAX_REASONS = 5
ROLES = ("system", "user", "assistant", "developer", "tool")

Messages = list[dict[str, JSON]]


class PromptsError(WorkloadError):
    """Lines that are no prompts; the message names each with its reason."""

    def __init__(self, message: str) -> None:
        super().__init__("prompts", message)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly one of the two is set."""

    text: str | None
    messages: Messages | None

    def as_messages(self) -> Messages:
        return self.messages or [{"role": "user", "content": self.text or ""}]

    def as_text(self) -> str | None:
        """The prompt for an interface that takes none but a text; None for a conversation."""
        if self.text is not None:
            return self.text
        only = self.messages if self.messages and len(self.messages) == 1 else None
        return str(only[0]["content"]) if only else None


@dataclass(frozen=True, slots=True)
class Prompts:
    items: tuple[Prompt, ...]

    def as_jsonl(self) -> str:
        """As the probe reads it."""
        return lines(
            {"prompt": each.text} if each.text is not None else {"messages": each.messages}
            for each in self.items
        )


def read_prompts(text: str) -> Prompts:
    """Read a whole prompt file. Raises PromptsError."""
    found = parse_prompts(text)
    if not found:
        raise PromptsError("give at least one prompt")
    return Prompts(tuple(found))


def parse_prompts(text: str) -> list[Prompt]:
    """Read every line; blank ones are left out. Raises PromptsError with the lines and reasons."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise PromptsError(f"more than {MAX_BYTES // 2**20} MiB of prompts")
    found, wrong = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(_prompt(line))
        except ValueError as problem:
            wrong.append(f"line {number}: {problem}")
    if wrong:
        more = f"; and {len(wrong) - MAX_REASONS} more" if len(wrong) > MAX_REASONS else ""
        raise PromptsError("; ".join(wrong[:MAX_REASONS]) + more)
    if len(found) > MAX_LINES:
        raise PromptsError(f"more than {MAX_LINES:,} prompts")
    return found


def lines(values: object) -> str:
    """JSON lines in which no text can be taken for a placeholder such as {kit}.

    The node kit replaces those words in files. Inside of a JSON text a brace may stand as an
    escape; a brace of the JSON itself is followed by a quotation mark and is no placeholder.
    """
    return "".join(_guarded(each) + "\n" for each in values)  # type: ignore[attr-defined]


def digest(text: str) -> str:
    """Twelve hex digits that tell one prompt file from another."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _guarded(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("{", "\\u007b")
    if isinstance(value, dict):
        pairs = (f"{_guarded(key)}: {_guarded(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_guarded(each) for each in value) + "]"
    return json.dumps(value)


def _prompt(line: str) -> Prompt:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(value, dict):
        raise ValueError('not an object such as {"prompt": "…"}')
    if "prompt" in value and "messages" in value:
        raise ValueError('has both "prompt" and "messages"')
    if "prompt" in value:
        return Prompt(_text(value["prompt"], '"prompt"'), None)
    if "messages" in value:
        return Prompt(None, _messages(value["messages"]))
    raise ValueError('has neither "prompt" nor "messages"')


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} must be a text that is not empty")
    if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{what} holds a character that no request can carry")
    return value


def _messages(value: object) -> Messages:
    if not isinstance(value, list) or not value:
        raise ValueError('"messages" must be a list that is not empty')
    return [_message(each, number) for number, each in enumerate(value, start=1)]


def _message(value: object, number: int) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise ValueError(f"message {number} is no object")
    if value.get("role") not in ROLES:
        raise ValueError(f'message {number}: "role" must be one of {", ".join(ROLES)}')
    return {
        "role": value["role"],
        "content": _text(value.get("content"), f'message {number}: "content"'),
    }
