"""Faults on demand, by the environment: SIM_FAULT, SIM_STARTUP_S, SIM_SETTLE_S. Pure.

never-ready            the warm-up never ends, /health stays 503
crash-at-start         the scheduler dies while it starts; exit 1
oom-at-capture         memory runs out while graphs are captured; exit 1
die-after:<seconds>    the scheduler process is killed that long after the server is ready
hang[:<seconds>]       the scheduler stops stepping that long (default 0) after ready
throttle:<s>[:<for>]   that long after ready the GPUs are too hot and slow, for so long (20)
wrong-model            the server tells another model than the one it was launched with
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

KINDS = (
    "never-ready",
    "crash-at-start",
    "oom-at-capture",
    "die-after",
    "hang",
    "throttle",
    "wrong-model",
)
DEFAULT_THROTTLE_S = 20.0
DEFAULT_STARTUP_S = 3.5
DEFAULT_SETTLE_S = 5.0  # as long as SGLang sleeps before it looks for the cause of a crash
HEALTH_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Surroundings:
    """What the environment says; durations in seconds, fault "" for none."""

    fault: str
    fault_after_s: float
    fault_for_s: float
    startup_s: float
    settle_s: float
    health_timeout_s: float


def read(environ: Mapping[str, str]) -> Surroundings:
    """Raises ValueError that names the variable and what it may be."""
    kind, _, when = environ.get("SIM_FAULT", "").partition(":")
    after, _, lasting = when.partition(":")
    if kind and kind not in KINDS:
        raise ValueError(f"SIM_FAULT={kind!r} is not one of {', '.join(KINDS)}")
    if kind == "die-after" and not after:
        raise ValueError("SIM_FAULT=die-after needs seconds: die-after:10")
    return Surroundings(
        fault=kind,
        fault_after_s=_seconds("SIM_FAULT", after or "0"),
        fault_for_s=_seconds("SIM_FAULT", lasting or DEFAULT_THROTTLE_S),
        startup_s=_seconds("SIM_STARTUP_S", environ.get("SIM_STARTUP_S") or DEFAULT_STARTUP_S),
        settle_s=_seconds("SIM_SETTLE_S", environ.get("SIM_SETTLE_S") or DEFAULT_SETTLE_S),
        health_timeout_s=_seconds(
            "SGLANG_HEALTH_CHECK_TIMEOUT",
            environ.get("SGLANG_HEALTH_CHECK_TIMEOUT") or HEALTH_TIMEOUT_S,
        ),
    )


def _seconds(name: str, value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        raise ValueError(f"{name} needs a number of seconds, not {value!r}") from None
    if not 0 <= seconds < 86400:
        raise ValueError(f"{name} needs seconds between 0 and a day, not {value!r}")
    return seconds
