"""A simulated nvidia-smi: the queries of the real one, about GPUs that are imagined.

    nvidia-smi --query-gpu=FIELDS --format=csv,noheader,nounits [-i WHICH] [-lms MS]
    nvidia-smi --query-compute-apps=FIELDS --format=csv,noheader,nounits

The running servers tell their figures in files of the folder that THROUGHLINE_SIM_STATE names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from .gpumodel import COOL_C, FULL_MHZ, IDLE_BIT, IDLE_MHZ, IDLE_W, LIMIT_W
from .memory import GPU_GIB

GPUS = 4
NAME = "NVIDIA H100 80GB HBM3 (simulated)"
DRIVER = "570.86.15"
PROCESS = "sglang::scheduler"
USAGE = "This nvidia-smi is simulated. It answers --query-gpu and --query-compute-apps as CSV."
IDLE: dict[str, Any] = {
    "sm_mhz": IDLE_MHZ, "power_w": IDLE_W, "temperature_c": round(COOL_C), "utilization": 0,
    "memory_mib": 4, "mask": IDLE_BIT,
}  # fmt: skip


def main(argv: list[str]) -> int:
    what, _, given = (argv[0] if argv else "").partition("=")
    if what not in ("--query-gpu", "--query-compute-apps") or len(argv) < 2:
        print(USAGE)
        return 0 if not argv else 1
    fields = [field.strip() for field in given.split(",")]
    rows = gpu_rows if what == "--query-gpu" else process_rows
    for field in fields:
        if field not in (gpu_row(0, IDLE) if rows is gpu_rows else process_row(0, 0, 0)):
            print(f'Field "{field}" is not a valid field to query.\n')
            return 2
    which = _after("-i", argv)
    period_ms = _after("-lms", argv)
    while True:
        for row in rows():
            if which is None or {row.get("index"), row.get("uuid")} & set(which.split(",")):
                print(", ".join(str(row[field]) for field in fields))
        sys.stdout.flush()
        if period_ms is None:
            return 0
        time.sleep(int(period_ms) / 1000)


def _after(option: str, argv: list[str]) -> str | None:
    return argv[argv.index(option) + 1] if option in argv[:-1] else None


def gpu_rows() -> list[dict[str, Any]]:
    """One row for each GPU: idle, or as its server tells."""
    used = {gpu: told for told in servers() for gpu in told["gpus"]}
    return [gpu_row(index, used.get(index, IDLE)) for index in range(GPUS)]


def gpu_row(index: int, told: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": str(index),
        "uuid": _uuid(index),
        "name": NAME,
        "driver_version": DRIVER,
        "memory.total": int(GPU_GIB * 1024),
        "memory.used": told["memory_mib"],
        "clocks.sm": told["sm_mhz"],
        "clocks.mem": 2619,
        "clocks.max.sm": FULL_MHZ,
        "power.draw": f"{told['power_w']:.2f}",
        "power.limit": f"{LIMIT_W:.2f}",
        "temperature.gpu": told["temperature_c"],
        "utilization.gpu": told["utilization"],
        "clocks_event_reasons.active": f"0x{told['mask']:016X}",
        "ecc.errors.uncorrected.volatile.total": 0,
        "mig.mode.current": "Disabled",
    }


def process_rows() -> list[dict[str, Any]]:
    told = servers()
    return [process_row(gpu, s["pid"], s["memory_mib"]) for s in told for gpu in s["gpus"]]


def process_row(gpu: int, pid: int, memory_mib: int) -> dict[str, Any]:
    return {
        "gpu_uuid": _uuid(gpu),
        "pid": pid,
        "used_gpu_memory": memory_mib,
        "process_name": PROCESS,
    }


def _uuid(index: int) -> str:
    return f"GPU-51513151-0000-0000-0000-00000000000{index}"


def servers() -> list[dict[str, Any]]:
    """What the servers that live have told; what a dead one left is taken away."""
    folder = os.environ.get("THROUGHLINE_SIM_STATE", "")
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        try:
            with open(path) as file:
                told = json.load(file)
            if not _lives(told["server"]):
                os.unlink(path)
                continue
        except (OSError, ValueError):
            continue  # of a server that has just gone
        found.append(told)
    return found


def _lives(pid: int) -> bool:
    """A process that nobody has waited for yet holds no memory any more."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
