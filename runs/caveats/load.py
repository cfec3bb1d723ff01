"""What rules about the load are given: one entry for each level that was measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """One level. None is unknown. `flushed` is None where no flush was asked for.

    `cached_tokens` of `prompt_tokens` came from the server's prefix cache.
    """

    concurrency: int
    requests: int | None
    failed: int
    flushed: bool | None
    flush_answer: str
    prompt_tokens: int | None
    cached_tokens: int | None

    @property
    def hit_rate(self) -> float | None:
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens
