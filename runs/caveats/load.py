"""What rules about the load are given: one entry for each level that was measured."""

from dataclasses import dataclass

from runs.metrics.gpu import GpuWindow


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """One level. None is unknown. `flushed` is None where no flush was asked for.

    `cached_tokens` of `prompt_tokens` came from the server's prefix cache. `log_tps` is what the
    log's `log_lines` tell of `log_seconds` in which the client received `client_tps`. `gpus` are
    the GPUs of the run while the level was measured, none where they were not sampled.

    `seconds` is how long the level was measured. `warmed` are requests sent before it, None if
    nobody knows. `step_fall` is how much shorter a forward pass was at the window's end than at its
    begin, a fraction. `running_first` and `running_later` are the most that ran in the first
    seconds and after them. `client_cpu` is the client's share of one core. `tail_told`: a 99 %
    figure is told. Rates are requests per second. `waiting_first` and `waiting_last` are means over
    the thirds of the window. `log_age` is how long before the window's end the log's newest line
    was written, `log_interval` the usual time between lines; `log_elsewhere` counts decode lines
    of the run outside this window.
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
    seconds: float | None = None
    first: bool = False
    warmed: int | None = None
    step_fall: float | None = None
    running_first: int | None = None
    running_later: int | None = None
    running_mean: float | None = None
    waiting_mean: float | None = None
    client_cpu: float | None = None
    tail_told: bool = False
    asked_rate: float | None = None
    served_rate: float | None = None
    waiting_first: float | None = None
    waiting_last: float | None = None
    output_tps: float | None = None
    accept_len_cumulative: float | None = None
    log_age: float | None = None
    log_interval: float | None = None
    log_elsewhere: int = 0

    @property
    def hit_rate(self) -> float | None:
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens
