"""One generation inside the engine, and the interface by which its tokens leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


class Sink(Protocol):
    """Takes the tokens of one request; implemented by the HTTP side."""

    def push(self, tokens: int) -> None:
        """More tokens were generated; nothing has to be sent yet."""

    def flush(self, finish: str | None) -> None:
        """Send what is pending; `finish` names the reason if it was the last."""

    def alive(self) -> bool:
        """False once the client is gone."""


@dataclass(frozen=True)
class Plan:
    """What a request will do, settled when it arrives. Counts are tokens."""

    rid: str
    prompt_tokens: int
    cached_tokens: int
    max_new: int
    natural_end: int | None  # None: goes on to max_new (ignore_eos)
    loops_after: int | None  # from here on greedy text repeats itself
    chances: tuple[float, ...]
    loop_chances: tuple[float, ...]

    @property
    def length(self) -> int:
        """Tokens it will have produced at its end."""
        if self.natural_end is None:
            return self.max_new
        return min(self.max_new, self.natural_end)

    @property
    def finish(self) -> str:
        return "length" if self.length == self.max_new else "stop"


@dataclass(eq=False)
class Request:
    """A plan on its way through queue, prefill and decode."""

    plan: Plan
    sink: Sink
    produced: int = field(default=0)
    prefilled: int = field(default=0)  # tokens held while waiting or in chunked prefill

    @property
    def held(self) -> int:
        """KV tokens it holds while running."""
        return self.plan.prompt_tokens + self.produced

    @property
    def to_prefill(self) -> int:
        """Tokens still to be computed before it can decode (a retracted one starts again)."""
        return max(1, self.held - self.plan.cached_tokens - self.prefilled)

    @property
    def remaining(self) -> int:
        return self.plan.max_new - self.produced

    def accept_chances(self) -> tuple[float, ...]:
        looping = self.plan.loops_after
        if looping is not None and self.produced > looping:
            return self.plan.loop_chances
        return self.plan.chances
