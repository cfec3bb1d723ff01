"""What a client asked for: request bodies to an Asked, or the error SGLang would answer. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import answers, text

CHAT_TEMPLATE_TOKENS = 12  # what a chat template adds once ...
MESSAGE_TEMPLATE_TOKENS = 4  # ... and for each message
COMPLETION_MAX_TOKENS = 16  # the default of /v1/completions


class Refused(Exception):
    """A request that is answered with an error body."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body["message"])
        self.status = status
        self.body = body


@dataclass(frozen=True)
class Asked:
    """One generation request, checked. `prompt` is all the text, `question` its last part."""

    prompt: str
    question: str
    template_tokens: int
    model: str | None
    max_tokens: int | None
    temperature: float | None
    seed: int | None
    ignore_eos: bool
    stream: bool
    include_usage: bool


def parse(route: str, body: bytes) -> Asked:
    """A request body of one of the three generation routes. Raises Refused."""
    fields = _object(route, body)
    prompt, question, template = _prompt(route, fields)
    sampling = fields.get("sampling_params") if route == "/generate" else fields
    if not isinstance(sampling, dict):
        sampling = {}
    options = fields.get("stream_options")
    return Asked(
        prompt=prompt,
        question=question,
        template_tokens=template,
        model=fields["model"] if isinstance(fields.get("model"), str) else None,
        max_tokens=_max_tokens(route, sampling),
        temperature=_number(route, sampling, "temperature"),
        seed=_whole(route, sampling, "seed"),
        ignore_eos=sampling.get("ignore_eos") is True,
        stream=fields.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def check_lengths(asked: Asked, prompt_tokens: int, context: int, kv_tokens: int) -> int:
    """The most tokens to generate. Raises Refused if they or the prompt do not fit."""
    room = min(context, kv_tokens)
    wanted = asked.max_tokens
    if wanted is not None and wanted > context:
        raise _too_long(
            f"max_completion_tokens is too large: {wanted}."
            f"This model supports at most {context} completion tokens."
        )
    if prompt_tokens >= room:
        raise _too_long(
            f"The input ({prompt_tokens} tokens) is longer than the model's "
            f"context length ({room} tokens)."
        )
    if wanted is not None and prompt_tokens + wanted > context:
        raise _too_long(
            f"Requested token count exceeds the model's maximum context length of {context} "
            f"tokens. You requested a total of {prompt_tokens + wanted} tokens: {prompt_tokens} "
            f"tokens from the input messages and {wanted} tokens for the completion."
        )
    left = room - prompt_tokens
    return left if wanted is None else min(wanted, left)


def _too_long(message: str) -> Refused:
    return Refused(400, answers.error(message, "BadRequestError", 400))


def _invalid(route: str, kind: str, where: str, message: str) -> Refused:
    detail = {"type": kind, "loc": ("body", where), "msg": message}
    return Refused(400, answers.validation_error(route, detail))


def _object(route: str, body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as problem:
        at = getattr(problem, "pos", 0)
        detail = {
            "type": "json_invalid",
            "loc": ("body", at),
            "msg": "JSON decode error",
            "input": {},
            "ctx": {"error": getattr(problem, "msg", str(problem))},
        }
        raise Refused(400, answers.validation_error(route, detail)) from None
    if not isinstance(fields, dict):
        raise _invalid(route, "model_attributes_type", "", "Input should be a valid dictionary")
    return fields


def _prompt(route: str, fields: dict[str, Any]) -> tuple[str, str, int]:
    key = {"/v1/chat/completions": "messages", "/v1/completions": "prompt"}.get(route, "text")
    if key not in fields:
        raise _invalid(route, "missing", key, "Field required")
    value = fields[key]
    if key != "messages":
        if not isinstance(value, str):
            raise _invalid(route, "string_type", key, "Input should be a valid string")
        return value, value, 0
    if not isinstance(value, list) or not value:
        raise _invalid(route, "list_type", key, "Input should be a valid list")
    parts = [_content(route, message) for message in value]
    template = CHAT_TEMPLATE_TOKENS + MESSAGE_TEMPLATE_TOKENS * len(parts)
    return "\n".join(parts), parts[-1], template


def _content(route: str, message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in texts if isinstance(part, str))
    if not isinstance(content, str):
        raise _invalid(route, "string_type", "messages", "Input should be a valid string")
    return content


def _max_tokens(route: str, sampling: dict[str, Any]) -> int | None:
    if route == "/generate":
        found = _whole(route, sampling, "max_new_tokens")
        return 128 if found is None else found
    found = _whole(route, sampling, "max_completion_tokens")
    if found is None:
        found = _whole(route, sampling, "max_tokens")
    if found is not None and found < 1:
        raise _invalid(route, "greater_than", "max_tokens", "Input should be greater than 0")
    return COMPLETION_MAX_TOKENS if found is None and route == "/v1/completions" else found


def _number(route: str, fields: dict[str, Any], key: str) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise _invalid(route, "float_type", key, "Input should be a valid number")
    return float(value)


def _whole(route: str, fields: dict[str, Any], key: str) -> int | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _invalid(route, "int_type", key, "Input should be a valid integer")
    return value


def prompt_tokens(asked: Asked) -> tuple[int, list[str]]:
    """Count of all prompt tokens and the tokens of its text."""
    found = text.tokens_of(asked.prompt)
    return max(1, len(found) + asked.template_tokens), found
