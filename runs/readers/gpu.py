"""Rows of `nvidia-smi --query-gpu=… --format=csv` to events; its header names the columns.

A row becomes 'gpu_reading', or 'thermal_slowdown' when the driver says that heat slows the clock.
"""

import re

from runs.engines.base import JSON, Event

HINTS = ("timestamp, ", ", timestamp", " MHz, ", " W, ")
_ROW = re.compile(r"[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
_NUMBER = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,6})?)(?: (?:%|MHz|W|MiB|C))?")
_NAMES = {
    "index": "gpu",
    "temperature.gpu": "temp_c",
    "temperature.memory": "memory_temp_c",
    "clocks.current.sm": "sm_mhz",
    "clocks.sm": "sm_mhz",
    "clocks.current.memory": "memory_mhz",
    "power.draw": "power_w",
    "power.limit": "power_limit_w",
    "utilization.gpu": "utilization",
    "utilization.memory": "memory_utilization",
    "memory.used": "memory_used_mib",
    "memory.total": "memory_total_mib",
}
_FLAGS = {
    "hw_thermal_slowdown": "thermal_slowdown",
    "sw_thermal_slowdown": "thermal_slowdown",
    "sw_power_cap": "power_cap",
    "hw_slowdown": "hw_slowdown",
    "hw_power_brake_slowdown": "power_brake",
}
# Bits of clocks_event_reasons.active: software and hardware thermal slowdown; power cap.
_THERMAL_BITS = 0x20 | 0x40
_POWER_CAP_BIT = 0x4


class GpuReader:
    """Reads the rows that follow a header; without a header nothing tells what a column is."""

    def __init__(self) -> None:
        self._columns: list[str] = []

    @property
    def named(self) -> bool:
        """Whether a header was seen: a row may begin with anything."""
        return bool(self._columns)

    def take(self, text: str, offset: int, line: int, terminated: bool) -> list[Event] | None:
        """Read a header (no event) or a row; None when the line is neither."""
        cells = [cell.strip() for cell in text.split(",")]
        if "timestamp" in cells and len(cells) > 2 and not any(map(_ROW.match, cells)):
            self._columns = cells
            return []
        if not self._columns or len(cells) != len(self._columns):
            return None
        time = cells[self._columns.index("timestamp")]
        if not _ROW.match(time):
            return None
        if not terminated:
            cells[-1] = ""  # it touches the end of the input
        data = _data(dict(zip(self._columns, cells, strict=True)))
        kind = "thermal_slowdown" if data.get("thermal_slowdown") is True else "gpu_reading"
        stamp = time[:19].replace("/", "-").replace(" ", "T")
        return [Event(kind, stamp, text, data, offset, line)]


def _data(cells: dict[str, str]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for column, cell in cells.items():
        label = column.partition(" [")[0]
        prefix, _, flag = label.rpartition(".")
        if label in _NAMES:
            number = _NUMBER.fullmatch(cell)
            if number:
                found[_NAMES[label]] = float(number[1]) if "." in number[1] else int(number[1])
        elif label.endswith("reasons.active"):
            found |= _reasons(cell)
        elif prefix.endswith("reasons") and flag in _FLAGS and cell in ("Active", "Not Active"):
            name = _FLAGS[flag]
            found[name] = found.get(name) is True or cell == "Active"
    return found


def _reasons(cell: str) -> dict[str, JSON]:
    if not re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", cell):
        return {}
    bits = int(cell, 16)
    return {
        "thermal_slowdown": bool(bits & _THERMAL_BITS),
        "power_cap": bool(bits & _POWER_CAP_BIT),
    }
