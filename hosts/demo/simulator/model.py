"""The speed model: how long a step takes and how many drafts are accepted. Pure functions.

The figures are invented to look like one GPU serving a mid-size model; docs/simulated-engine.md
has the table they give. Times are seconds, rates are probabilities between 0 and 1.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

BASE_S = 0.0162  # reading the weights once: the floor of every step
REQUEST_S = 0.00027  # sampling and bookkeeping, for each running request
TOKEN_S = 0.00018  # verifying one token (the plain token counts as one)
CONTEXT_S = 5e-8  # attention over one token of context held by the batch
DRAFT_STEP_S = 0.0005  # one pass of the draft model
SERIAL_SCHEDULE_S = 0.0012  # scheduling that is not overlapped with the step
EAGER_FLOOR_S = 0.040  # without graphs the host's kernel launches set the pace ...
EAGER_DRAFT_STEP_S = 0.004  # ... also those of each draft pass
PREFILL_BASE_S = 0.004
PREFILL_TOKEN_S = 0.00003
TENSOR_PARALLEL_EXPONENT = 0.7  # two GPUs are 1.6 times as fast, not twice

LAUNCH_EFFECT_SD = 0.01  # of ln(step time), drawn once for a launch
LINE_EFFECT_SD = 0.008  # drawn anew for each decode log line
STEP_EFFECT_SD = 0.01

FIRST_MISS = 0.16  # chance that the first draft is refused: chat, temperature 0.7
ACCEPT_DECLINE = 0.91  # each further draft is accepted this much less often
KIND_MISS = {"code": 0.7, "chat": 1.0, "prose": 1.3}
DEFAULT_TEMPERATURE = 0.7  # what the model's own generation config would say
LOOP_TEMPERATURE = 0.3  # at and below it, text past its natural end falls into a loop
LOOP_MISS = 0.5
CHUNKS_PER_S = 1450.0  # two cores have to carry the client too


@dataclass(frozen=True)
class Speculation:
    """What is drafted and verified in one step; no speculation is steps 0, one token."""

    steps: int
    topk: int
    draft_tokens: int


@dataclass(frozen=True)
class SpeedSettings:
    """Everything about a launch that changes how long its steps take."""

    speculation: Speculation
    tp_size: int
    overlap: bool
    launch_effect: float


def launch_effect(seed: int) -> float:
    """The factor on every step time of the launch with this seed: log-normal, sd 1 %."""
    return math.exp(random.Random(f"launch {seed}").gauss(0.0, LAUNCH_EFFECT_SD))


def decode_seconds(speed: SpeedSettings, batch: int, context_tokens: int, graph: bool) -> float:
    """Mean seconds of one decode step of `batch` requests holding `context_tokens` in all."""
    spec = speed.speculation
    work = BASE_S + batch * (REQUEST_S + TOKEN_S * spec.draft_tokens)
    work += CONTEXT_S * context_tokens + DRAFT_STEP_S * spec.steps
    work /= math.pow(speed.tp_size, TENSOR_PARALLEL_EXPONENT)
    if not speed.overlap:
        work += SERIAL_SCHEDULE_S
    if not graph:
        work = max(work + 0.0015, EAGER_FLOOR_S + EAGER_DRAFT_STEP_S * spec.steps)
    return work * speed.launch_effect


def prefill_seconds(speed: SpeedSettings, new_tokens: int) -> float:
    """Seconds of one prefill batch with `new_tokens` tokens that were not in the cache."""
    work = PREFILL_BASE_S + PREFILL_TOKEN_S * new_tokens
    return work / math.pow(speed.tp_size, TENSOR_PARALLEL_EXPONENT) * speed.launch_effect


def temperature_miss(temperature: float | None) -> float:
    """How much more often drafts are refused than at 0.7: greedy text is easier to guess."""
    used = DEFAULT_TEMPERATURE if temperature is None else temperature
    return 0.70 + 0.30 / DEFAULT_TEMPERATURE * min(max(used, 0.0), 2.0)


def acceptance(
    spec: Speculation, kind: str, temperature: float | None, looping: bool
) -> tuple[float, ...]:
    """Chance of each draft position, given that the ones before it were accepted."""
    scale = KIND_MISS[kind] * temperature_miss(temperature) * (LOOP_MISS if looping else 1.0)
    spread = 1.0 + 0.25 * math.log2(spec.topk)  # a wider tree misses less often
    chances = []
    for position in range(min(spec.steps, spec.draft_tokens - 1)):
        miss = 1.0 - (1.0 - FIRST_MISS) * ACCEPT_DECLINE**position
        chances.append(1.0 - min(0.98, miss * scale) ** spread)
    return tuple(chances)


def mean_accept_len(chances: tuple[float, ...]) -> float:
    """Tokens per step and request, the bonus token included (1.0 = nothing was accepted)."""
    total, reach = 1.0, 1.0
    for chance in chances:
        reach *= chance
        total += reach
    return total


def draw_accepted(chances: tuple[float, ...], rng: random.Random) -> int:
    """Tokens of one request in one step: the bonus token and the drafts accepted before a miss."""
    tokens = 1
    for chance in chances:
        if rng.random() >= chance:
            break
        tokens += 1
    return tokens


def stream_stride(batch: int, step_s: float, interval: int) -> int:
    """Steps whose tokens share one SSE chunk, so that all clients together get <= 1,500/s."""
    return max(interval, math.ceil(batch / (step_s * CHUNKS_PER_S)))
