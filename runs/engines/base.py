"""The records every engine's log reader gives, whatever the engine.

Values are in base units: tokens, requests, seconds, tokens per second; usages and rates are
fractions (0.24, never 24). What a line does not say is None, never zero.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

# Written as a string because it names itself.
JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
# "interval" and "spec_interval" are vLLM's means over ten seconds, "iteration" is one step.
Phase: TypeAlias = Literal["decode", "prefill", "interval", "spec_interval", "iteration"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One decode, prefill, interval or iteration line.

    `time` is as printed, 'YYYY-MM-DDTHH:MM:SS' (the server's local time, with its milliseconds if
    it printed them, without the date if it printed none). `rank` is the tag text, 'DP0 TP0'.
    `offset` is the byte at which the line begins in its source, `line` counts from 1.
    `extras` holds every further field under its name, unknown ones under their printed label;
    `extras["unread"]` is text of the line that gave no field, such as a tail that was cut off.
    """

    phase: Phase
    time: str | None
    rank: str | None
    running: int | None
    waiting: int | None
    tokens: int | None
    token_usage: float | None
    accept_len: float | None
    accept_rate: float | None
    graph: bool | None
    graph_label: str | None
    output_tps: float | None
    input_tps: float | None
    new_seq: int | None
    new_tokens: int | None
    cached_tokens: int | None
    pending_tokens: int | None
    extras: dict[str, JSON]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Event:
    """A milestone or fault: `kind` names it, `data` holds what the line says about it.

    `text` is the line with its secrets replaced by filler.
    """

    kind: str
    time: str | None
    text: str
    data: dict[str, JSON]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Request:
    """What an engine says about one finished request (llama.cpp does); times are in ms.

    `values` hold slot, task, prompt_tokens, prompt_ms, prompt_tok_per_s, output_tokens, decode_ms,
    decode_tok_per_s, accept_rate and further fields, as far as they were printed.
    """

    time: str | None
    values: dict[str, JSON]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """A record that cannot be read as one; it is counted and shown, and gives no numbers."""

    reason: str
    text: str
    offset: int
    line: int


Record: TypeAlias = Sample | Event | Damaged

_RANK_TAG = re.compile(r"([A-Z_]+)([0-9]+)")


def rank_tags(rank: str | None) -> dict[str, int]:
    """Read 'DP1 TP2 EP2' as {'DP': 1, 'TP': 2, 'EP': 2}; the order printed differs by release."""
    return {tag: int(number) for tag, number in _RANK_TAG.findall(rank or "")}
