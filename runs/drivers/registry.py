"""The drivers this house knows, by name. Adding one: copy the nearest, add a line and its cases."""

from __future__ import annotations

from runs.drivers.checks import WorkloadError
from runs.drivers.command import Command
from runs.drivers.driver import Driver
from runs.drivers.probe import Probe
from runs.drivers.sglang_bench import SglangBench
from runs.drivers.vllm_bench import VllmBench

_ALL: tuple[Driver, ...] = (Probe(), SglangBench(), VllmBench(), Command())
DRIVERS: dict[str, Driver] = {driver.name: driver for driver in _ALL}
# What an import has: who made its load, and how, is told too incompletely to do it again.
UNKNOWN = "unknown"
# Which driver starts the tool that a result names.
OF_TOOL = {"sglang.bench_serving": SglangBench.name, "vllm.bench_serve": VllmBench.name}

# Settings that only some drivers have, in the order in which they are shown.
SETTINGS: tuple[str, ...] = tuple(
    dict.fromkeys(setting.name for driver in _ALL for setting in driver.settings)
)
PROMPT_SETS: tuple[str, ...] = tuple(
    dict.fromkeys(name for driver in _ALL for name in driver.prompt_sets)
)


def find_driver(name: str) -> Driver:
    """Give the driver. Raises WorkloadError for an import's unknown one and for one not known."""
    if name == UNKNOWN:
        reason = (
            "this load was imported: who made it, and with which settings, is not known, so it "
            "cannot be started again. Open a campaign with a driver of your choice"
        )
        raise WorkloadError("driver", reason)
    if name not in DRIVERS:
        raise WorkloadError("driver", f"must be one of {', '.join(DRIVERS)}, not {name!r}")
    return DRIVERS[name]
