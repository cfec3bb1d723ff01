"""The imagined GPUs under one server: clock, heat, power, and a file that tells nvidia-smi.

The figures are invented to look like H100s; what a heat episode does to the speed is done by the
scheduler, and both are told by the same clock.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Mapping

from .memory import GPU_GIB

FULL_MHZ = 1980
HOT_MHZ = 1410
IDLE_MHZ = 345
IDLE_W = 112.0
BUSY_W = 420.0  # one request; more of them need more, up to the limit
REQUEST_W = 9.0
LIMIT_W = 700.0
COOL_C = 36.0
BUSY_C = 66.0
HOT_C = 88.0
IDLE_BIT = 0x1
THERMAL_BIT = 0x20
WARMING = 0.12  # of the way to its temperature in one tick
TICK_S = 0.5
KEPT_TICKS = 3  # a driver tells a mean over a second or so: a pause between two requests is no rest


@dataclass
class GpuModel:
    """Call `tick` every TICK_S; `hot` is set while a heat episode lasts."""

    gpus: list[int]
    memory_mib: int
    hot: bool = False
    temperature: float = COOL_C
    last_running: int = 0
    resting: int = 0  # ticks without a request

    @property
    def slowdown(self) -> float:
        """How much longer a step takes than at the full clock; memory does not slow down."""
        return 1.0 if not self.hot else 0.4 + 0.6 * FULL_MHZ / HOT_MHZ

    def tick(self, running: int) -> dict[str, Any]:
        """What the GPUs show now, with so many requests running."""
        self.resting = 0 if running else self.resting + 1
        if running or self.resting > KEPT_TICKS:
            self.last_running = running
        running = self.last_running
        aim = HOT_C if self.hot else BUSY_C if running else COOL_C
        step = 1.0 if self.hot else WARMING
        self.temperature += (aim - self.temperature) * step
        clock = HOT_MHZ if self.hot else FULL_MHZ if running else IDLE_MHZ
        power = min(LIMIT_W, BUSY_W + REQUEST_W * running) if running else IDLE_W
        return {
            "gpus": self.gpus,
            "sm_mhz": clock,
            "power_w": round(power * (0.8 if self.hot else 1.0), 2),
            "temperature_c": round(self.temperature),
            "utilization": 99 if running else 0,
            "memory_mib": self.memory_mib,
            "mask": THERMAL_BIT if self.hot else 0 if running else IDLE_BIT,
        }


def devices(environ: Mapping[str, str], tp_size: int) -> list[int]:
    """Which GPUs a server takes: the first it may see."""
    given = environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    seen = [int(part) for part in given if part.strip().isdigit()]
    return (seen or list(range(tp_size)))[:tp_size]


def used_mib(free_gib: float) -> int:
    return int((GPU_GIB - free_gib) * 1024)


def tell(folder: str, pid: int, told: dict[str, Any]) -> None:
    """Whole or not at all: nvidia-smi may read at any moment."""
    path = os.path.join(folder, f"gpu-{os.getpid()}.json")
    os.makedirs(folder, exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump({"server": os.getpid(), "pid": pid, **told}, file)
    os.replace(path + ".new", path)
