"""What a caveat rule is given and what it gives back."""

from dataclasses import dataclass

from runs.engines.base import JSON


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one run or arm. None is unknown, and no rule fires on what is unknown.

    `levels` are offered concurrencies. Lines are decode lines of the server's log. `accept_pairs`
    are (accept len, printed accept rate). Speeds are output tok/s at one and the same level.
    """

    speculative: bool | None
    temperature: float | None
    ignore_eos: bool | None
    levels: tuple[int, ...]
    max_running_requests: int | None
    lines: int
    lines_waiting: int
    waiting_max: int | None
    running_max: int | None
    lines_graph_told: int
    lines_graph_off: int
    partial_lines: int
    accept_pairs: tuple[tuple[float, float], ...]
    draft_tokens: int | None
    steps: int | None
    client_tps: float | None
    log_tps: float | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's remark: `text` for people, `evidence` the measured values that fired it."""

    slug: str
    text: str
    evidence: dict[str, JSON]
