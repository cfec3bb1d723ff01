"""What the probe driver is to do, read from its specification file and checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import List, Optional

from . import request as req
from .address import host_and_port
from .cachepolicy import CachePolicy, parse_policy
from .errors import BadRequest

APIS = ("chat", "completions")
PROMPT_SETS = ("chat", "code", "prose", "synthetic")


@dataclass(frozen=True)
class Level:
    concurrency: int
    requests: int  # measured ones; the warm-up comes on top


@dataclass(frozen=True)
class Spec:
    host: str
    port: int
    api: str
    model: str
    levels: List[Level]
    warmup_requests: int  # per level
    temperature: Optional[float]  # None: not sent, the server's own default rules
    ignore_eos: bool
    seed: int  # of the prompts' order; not sent: a seeded sampler is another, slower one
    max_tokens: int
    prompt_set: str
    input_tokens: Optional[int]  # synthetic prompts only, about one word each
    prompts_file: Optional[str]  # absolute; takes the place of the prompt set
    timeout_s: float  # of a request, from its sending to its last byte
    unique_prefix: bool
    cache: CachePolicy


def load_spec(path: str) -> Spec:
    """Raises BadRequest with what is wrong with the file."""
    return parse_spec(read_object(path), os.path.dirname(os.path.abspath(path)))


def read_object(path: str) -> req.Json:
    """The JSON object in a file. Raises BadRequest."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except OSError as error:
        raise BadRequest("cannot read {}: {}".format(path, error.strerror)) from None
    except ValueError as error:
        raise BadRequest("{} is not JSON: {}".format(path, error)) from None
    if not isinstance(value, dict):
        raise BadRequest("{} is not a JSON object".format(path))
    return value


def parse_spec(value: req.Json, folder: str) -> Spec:
    """`folder` is where a relative prompts file is looked for."""
    host, port = host_and_port(req.text(value, "base_url"))
    prompt_set = _one_of(value, "prompt_set", PROMPT_SETS)
    prompts_file = None if value.get("prompts_file") is None else req.text(value, "prompts_file")
    return Spec(
        host=host,
        port=port,
        api=_one_of(value, "api", APIS),
        model=req.text(value, "model"),
        levels=_levels(value),
        warmup_requests=req.whole(value, "warmup_requests", least=0),
        temperature=_temperature(value),
        ignore_eos=_truth(value, "ignore_eos"),
        seed=req.whole(value, "seed", least=0),
        max_tokens=req.whole(value, "max_tokens", least=1),
        prompt_set=prompt_set,
        input_tokens=_input_tokens(value, prompt_set),
        prompts_file=None if prompts_file is None else os.path.join(folder, prompts_file),
        timeout_s=_above_zero(value, "timeout_s"),
        unique_prefix=_truth(value, "unique_prefix"),
        cache=parse_policy(value),
    )


def _levels(value: req.Json) -> List[Level]:
    concurrencies = _counts(value, "levels")
    if value.get("requests") is None:
        each = req.whole(value, "requests_per_level", least=1)
        return [Level(concurrency, each) for concurrency in concurrencies]
    requests = _counts(value, "requests")
    if len(requests) != len(concurrencies):
        raise BadRequest("'requests' must have one number for each of 'levels'")
    return [Level(c, n) for c, n in zip(concurrencies, requests)]


def _counts(value: req.Json, key: str) -> List[int]:
    given = value.get(key)
    if not isinstance(given, list) or not given:
        raise BadRequest("{!r} must be a list of whole numbers".format(key))
    return [req.whole({key: one}, key, least=1) for one in given]


def _input_tokens(value: req.Json, prompt_set: str) -> Optional[int]:
    if prompt_set == "synthetic":
        return req.whole(value, "input_tokens", least=1, most=2_000_000)
    return None


def _temperature(value: req.Json) -> Optional[float]:
    given = value.get("temperature")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < 100:
        raise BadRequest("'temperature' must be a number from 0 on, or null")
    return given


def _one_of(value: req.Json, key: str, known: "tuple[str, ...]") -> str:
    given = req.text(value, key)
    if given not in known:
        raise BadRequest("{!r} must be one of {}".format(key, ", ".join(known)))
    return given


def _truth(value: req.Json, key: str) -> bool:
    given = value.get(key)
    if not isinstance(given, bool):
        raise BadRequest("{!r} must be true or false".format(key))
    return given


def _above_zero(value: req.Json, key: str) -> float:
    given = req.seconds(value, key)
    if given == 0:
        raise BadRequest("{!r} must be more than zero".format(key))
    return given
