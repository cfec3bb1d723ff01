"""What a caveat rule is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeAlias, TypeVar

from runs.engines.base import JSON

# block: nothing may be concluded; warn: the figures mislead somebody; info: good to know.
Severity: TypeAlias = Literal["block", "warn", "info"]
SEVERITIES: tuple[Severity, ...] = ("block", "warn", "info")  # the worst first
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one run or arm. None is unknown, and no rule fires on what is unknown.

    `levels` are offered concurrencies. Lines are decode lines of the server's log. `accept_pairs`
    are (accept len, printed accept rate). Speeds are output tok/s at one and the same level.
    `usage_max` is a fraction of the KV pool. `simulated` says what set the acceptance by hand.
    `restarts` are start-ups, `retracted` requests thrown out, both while levels were measured.
    `dp_ranks` are the ranks that printed lines. `damaged` lines could not be read as records.
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
    asked_running: int | None = None
    top_k: int | None = None
    prompt_set: str | None = None
    chat_template: bool | None = None
    simulated: str | None = None
    graph_max: int | None = None
    lines_above_graph: int = 0
    usage_max: float | None = None
    retracted: int = 0
    restarts: int = 0
    dp_size: int | None = None
    dp_ranks: tuple[int, ...] = ()
    damaged: int = 0
    unread_lines: int = 0
    unknown_labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's remark: `text` for people, `evidence` the measured values that fired it.

    Without a `severity` of its own it has its rule's. `metric`: it touches this figure alone.
    """

    slug: str
    text: str
    evidence: dict[str, JSON]
    severity: Severity | None = None
    metric: str = ""


# In an experiment's changes: the lowest running limit of the compared arms, a multiple of what is
# set now, the first prompt set of the driver that is neither random nor a file.
LOWEST_LIMIT = "lowest running limit"
FIVE_TIMES = "five times as many"
REAL_PROMPTS = "real prompts"


@dataclass(frozen=True, slots=True)
class Experiment:
    """The smallest interleaved runs that tell how much a caveat matters.

    `changes` are settings of the workload, flags ("--x": None takes it away) or names of flags
    that every engine has ("max_running_requests"). `arms` "one": the arm as it is beside the arm
    changed; "all": all compared arms once more, changed, interleaved. The caveat is confirmed when
    the changed arm is `confirmed_by` the verdict on `metric`; of "all", when the verdict differs
    from the one that was doubted.
    """

    words: str
    changes: Mapping[str, JSON] = field(default_factory=dict)
    arms: Literal["one", "all"] = "one"
    confirmed_by: Literal["worse", "better", "any"] = "any"
    metric: str = "output_tps"


@dataclass(frozen=True, slots=True)
class Rule(Generic[Given]):
    """One rule: its usual severity, what finds it, and what would test it."""

    slug: str
    severity: Severity
    find: Callable[[Given], Finding | None]
    test: Experiment | None = None

    def __call__(self, given: Given) -> Finding | None:
        found = self.find(given)
        if found is None:
            return None
        return found if found.severity else replace(found, severity=self.severity)
