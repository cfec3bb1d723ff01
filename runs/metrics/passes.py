"""What log lines say of a server's forward passes: how many requests, tokens and seconds.

Tokens per second are occupancy times accept len times passes per second, exactly. No step time is
taken from the stamps of lines: they are whole seconds, and a line of SGLang spans some forty
passes. A line's own tokens, running requests and accept len tell its length.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import median
from typing import Literal

# Forward passes between two decode lines of SGLang, unless --decode-log-interval says otherwise.
SGLANG_PASSES = 40
# Seconds between two interval lines of vLLM.
VLLM_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line that tells a decode speed, at `time` (epoch seconds, its end).

    `seconds` is how long it spans, 0.0 where that is not known. `running` may be a mean.
    `accept_len` is None where the line does not tell it. `rank` names the DP rank that printed it.
    """

    time: float
    seconds: float
    output_tps: float
    running: float
    accept_len: float | None
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Factors:
    """What the lines of one launch at one level say together.

    `tps` is output tokens per second, `occupancy` requests in a pass, `accept_len` tokens per
    request and pass, `steps` passes per second; the first is exactly the product of the others.
    Of lines that span equally many passes, `steps` is the median line's: one in which a prompt was
    read is longer, and its time is none of a decode step's. `tps` is then that of decoding alone.
    Where lines do not tell their accept len it is None and so is `steps`: then `tps` is
    occupancy times `per_request` alone. `lines` were counted.
    """

    tps: float
    occupancy: float
    accept_len: float | None
    steps: float | None
    lines: int

    @property
    def per_request(self) -> float:
        """Tokens per second of one running request."""
        return self.tps / self.occupancy


@dataclass(slots=True)
class _Sum:
    """Sums over a rank's lines; `served` counts a request once for each pass it was in."""

    passes: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, line: Line, equal: Literal["passes", "seconds"]) -> None:
        length = line.accept_len if line.accept_len is not None else 1.0
        per_pass = line.running * length
        passes = 1.0 if equal == "passes" else line.output_tps / per_pass
        self.passes.append(passes)
        self.served.append(passes * line.running)
        self.tokens.append(passes * per_pass)
        self.seconds.append(passes * per_pass / line.output_tps)


def factors(
    lines: Iterable[Line], *, equal: Literal["passes", "seconds"], speculative: bool
) -> Factors | None:
    """Sum up lines of one launch. None if no line tells a speed.

    `equal`: what every line spans as much of. SGLang's lines span equally many passes, so a fast
    line weighs less time; vLLM's span equal seconds. Without speculation every pass gives every
    request one token. DP ranks work in step and add up.
    """
    told = [line for line in lines if line.output_tps > 0 and line.running > 0]
    if not told:
        return None
    split = not speculative or all(line.accept_len is not None for line in told)
    ranks: dict[str, _Sum] = defaultdict(_Sum)
    for line in told:
        ranks[line.rank].add(line, equal)
    seconds = {rank: fsum(each.seconds) for rank, each in ranks.items()}
    tps = fsum(fsum(each.tokens) / seconds[rank] for rank, each in ranks.items())
    served = fsum(fsum(each.served) / seconds[rank] for rank, each in ranks.items())
    mean = steps = _weighted(ranks, seconds)
    if split and equal == "passes":
        steps = 1 / median(spent for each in ranks.values() for spent in each.seconds)
    return Factors(
        tps=tps * steps / mean,
        occupancy=served / mean,
        accept_len=tps / served if split else None,
        steps=steps if split else None,
        lines=len(told),
    )


def _weighted(ranks: Mapping[str, _Sum], seconds: Mapping[str, float]) -> float:
    """Passes per second, over the ranks' whole time."""
    return fsum(fsum(each.passes) for each in ranks.values()) / fsum(seconds.values())


def inside(lines: Sequence[Line], start: float, end: float) -> list[Line]:
    """The lines whose whole length lies in [start, end]."""
    return [line for line in lines if start <= line.time - line.seconds and line.time <= end]
