"""The node's GPUs as `nvidia-smi` tells them."""

from __future__ import annotations

import subprocess
from typing import Any, Dict, List, Optional, Tuple

FIELDS = ("index", "name", "uuid", "memory.total", "driver_version")
WAIT_S = 15.0  # without persistence mode the driver is loaded for the question
MIB = 1024 * 1024


def gpus() -> Tuple[List[Dict[str, Any]], Optional[str]]:
    """The GPUs, and a remark when they could not be asked for."""
    command = ["nvidia-smi", "--query-gpu=" + ",".join(FIELDS), "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=WAIT_S,
        )
    except FileNotFoundError:
        return [], "nvidia-smi is not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], "nvidia-smi did not answer: {}".format(error)
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        return [], "nvidia-smi failed: {}".format(said.strip()[:500])
    return parse(said), None


def parse(said: str) -> List[Dict[str, Any]]:
    """Values it cannot tell ("[N/A]", "[Unknown Error]") are unknown, never 0."""
    found = []
    for line in said.splitlines():
        cells = [None if cell.startswith("[") else cell for cell in map(str.strip, line.split(","))]
        if len(cells) == len(FIELDS) and cells[0] is not None and cells[0].isdigit():
            index, name, uuid, memory, driver = cells
            found.append(
                {
                    "index": int(index or 0),
                    "name": name,
                    "uuid": uuid,
                    "memory_bytes": int(memory) * MIB if memory and memory.isdigit() else None,
                    "driver": driver,
                }
            )
    return found
