"""What rules about the load are given: one entry for each level that was measured."""

from dataclasses import dataclass

from runs.metrics.gpu import GpuWindow


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """One level. None is unknown. `flushed` is None where no flush was asked for.

    `cached_tokens` of `prompt_tokens` came from the server's prefix cache. `log_tps` is what the
    log's `log_lines` tell of `log_seconds` in which the client received `client_tps`. `gpus` are
    the GPUs of the run while the level was measured, none where they were not sampled.
    """

    concurrency: int
    requests: int | None
    failed: int
    flushed: bool | None
    flush_answer: str
    prompt_tokens: int | None
    cached_tokens: int | None
    client_tps: float | None = None
    log_tps: float | None = None
    log_seconds: float | None = None
    log_lines: int = 0
    gpus: tuple[GpuWindow, ...] = ()

    @property
    def hit_rate(self) -> float | None:
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens
