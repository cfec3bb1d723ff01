"""The prompts, and the request that carries each of them."""

from __future__ import annotations

import hashlib
import json
import pkgutil
import random
from typing import Any, Callable, Dict, List, Sequence, Union

from .errors import BadRequest
from .loadspec import Spec

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}

# A text, or the messages of a conversation.
Prompt = Union[str, List[Dict[str, Any]]]
Maker = Callable[[int], Prompt]


def prompt_maker(spec: Spec) -> Maker:
    """The prompt of the n-th request of a level: the same for each level and each run of a seed."""
    if spec.prompts_file is None and spec.prompt_set == "synthetic":
        length, words = spec.input_tokens or 1, _shipped("words").split()
        return lambda n: synthetic(spec.seed, n, length, words)
    prompts: List[Prompt] = (
        _from_file(spec.prompts_file) if spec.prompts_file else list(shipped(spec.prompt_set))
    )
    random.Random(spec.seed).shuffle(prompts)
    return lambda n: prompts[n % len(prompts)]


def shipped(name: str) -> List[str]:
    return [prompt.strip() for prompt in _shipped(name).split("\n---\n")]


def _shipped(name: str) -> str:
    data = pkgutil.get_data(__package__ or "nodekit", "prompts/{}.txt".format(name))
    if data is None:
        raise BadRequest("there is no prompt set {!r}".format(name))
    return data.decode()


def _from_file(path: str) -> List[Prompt]:
    """One prompt a line: plain text, or JSON that is a text or has a "prompt" or "messages"."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, ValueError) as error:
        raise BadRequest("cannot read the prompts: {}".format(error)) from None
    prompts = [_prompt_of(line) for line in lines if line]
    if not prompts:
        raise BadRequest("{} holds no prompts".format(path))
    return prompts


def _prompt_of(line: str) -> Prompt:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    if isinstance(value, dict) and isinstance(value.get("prompt"), str):
        return str(value["prompt"])
    if isinstance(value, dict) and _are_messages(value.get("messages")):
        return list(value["messages"])
    return value if isinstance(value, str) else line


def _are_messages(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("content"), str) for one in value)
    )


def synthetic(seed: int, n: int, length: int, words: Sequence[str]) -> str:
    """Short common words: about one token each in the vocabularies of today's models."""
    return " ".join(random.Random("{}:{}".format(seed, n)).choices(words, k=length))


def unique_prefix(nonce: str, number: int) -> str:
    """Unlike any other from its first characters on, so that no prefix cache has seen it."""
    digest = hashlib.sha256("{}:{}".format(nonce, number).encode()).hexdigest()
    return "{}-{} ".format(digest[:12], number)


def prefixed(prefix: str, prompt: Prompt) -> Prompt:
    """With the prefix before its first text."""
    if isinstance(prompt, str):
        return prefix + prompt
    first = {**prompt[0], "content": prefix + prompt[0]["content"]}
    return [first, *prompt[1:]]


def as_text(prompt: Prompt) -> str:
    """For an interface that takes no messages."""
    return prompt if isinstance(prompt, str) else "\n\n".join(one["content"] for one in prompt)


def request_bytes(spec: Spec, prompt: Prompt) -> bytes:
    """The whole HTTP request."""
    body: Dict[str, Any] = {
        "model": spec.model,
        "max_tokens": spec.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if spec.api == "chat":
        single = isinstance(prompt, str)
        body["messages"] = [{"role": "user", "content": prompt}] if single else prompt
    else:
        body["prompt"] = as_text(prompt)
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if spec.ignore_eos:
        body["ignore_eos"] = True
    data = json.dumps(body).encode()
    head = (
        "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n"
        "Accept: text/event-stream\r\nContent-Length: {}\r\n\r\n"
    ).format(PATHS[spec.api], spec.host, spec.port, len(data))
    return head.encode() + data
