"""What the charts draw, as plain values: columns of a log's samples, and readings of them.

Pure: rows come in, numbers go out. A value that is not known is ``None``, never zero.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

COLUMNS = ("phase", "output_tps", "accept_len", "running", "waiting", "token_usage", "tokens")
READ = ("seq", "time", "offset", *COLUMNS)  # the fields of a sample that the charts need
# lines that tell of generated tokens, whichever engine printed them
TOLD = ("decode", "interval", "spec_interval", "iteration", "request")
MEDIANS = ("output_tps", "accept_len", "steps", "running", "waiting", "token_usage")
LAST = 10  # decode lines behind one big number: about a quarter of a minute


class Line(Protocol):
    """The part of a sample that is drawn."""

    @property
    def seq(self) -> int: ...
    @property
    def time(self) -> float | None: ...
    @property
    def offset(self) -> int: ...
    @property
    def phase(self) -> str: ...
    @property
    def output_tps(self) -> float | None: ...
    @property
    def accept_len(self) -> float | None: ...
    @property
    def running(self) -> int | None: ...
    @property
    def waiting(self) -> int | None: ...
    @property
    def token_usage(self) -> float | None: ...
    @property
    def tokens(self) -> int | None: ...


def columns(samples: Sequence[Line]) -> dict[str, Any]:
    """Samples in columns: ``seq``, ``t`` (epoch seconds), ``offset`` (bytes) and ``cols``.

    ``seq0`` is the first number, ``n`` the count. Columns halve what row objects would weigh.
    """
    return {
        "seq0": samples[0].seq if samples else None,
        "n": len(samples),
        "seq": [s.seq for s in samples],
        "t": [s.time for s in samples],
        "offset": [s.offset for s in samples],
        "cols": {name: [getattr(s, name) for s in samples] for name in COLUMNS},
    }


@dataclass(frozen=True)
class Readings:
    """Medians over decode lines; ``lines`` is how many there were."""

    lines: int
    output_tps: float | None  # tokens per second
    accept_len: float | None  # tokens per step and request
    steps: float | None  # steps per second
    running: float | None
    waiting: float | None
    token_usage: float | None  # a share


def readings(samples: Iterable[Line], *, speculative: bool) -> Readings:
    """The medians of the decode lines among ``samples``, in one pass and 8 bytes a value."""
    lines, values = 0, {name: array("d") for name in MEDIANS}
    for sample in samples:
        if sample.phase not in TOLD:
            continue
        lines += sample.phase != "spec_interval"
        for name, known in values.items():
            value = (
                step_rate(sample, speculative=speculative)
                if name == "steps"
                else getattr(sample, name)
            )
            if value is not None:
                known.append(value)
    return Readings(lines, **{n: median(known) if known else None for n, known in values.items()})


def step_rate(sample: Line, *, speculative: bool) -> float | None:
    """Steps per second: each gives every running request ``accept_len`` tokens.

    Without speculation a step gives one. A speculative line that does not tell its accept len
    tells no step rate either.
    """
    accepted = sample.accept_len if speculative else (sample.accept_len or 1.0)
    if sample.output_tps is None or not sample.running or not accepted:
        return None
    return sample.output_tps / (sample.running * accepted)


def ratio(value: float | None, base: float | None) -> float | None:
    """``value`` in terms of ``base``, where both are known and the base is not zero."""
    if value is None or not base:
        return None
    return value / base
