"""The node's GPUs as `nvidia-smi` tells them, who is on them, and how to show only some."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import gpuowners, nvsmi
from . import request as req
from .errors import BadRequest
from .proc import unit_of

FIELDS = ("index", "uuid", "memory.total", "driver_version", "name")
BUSY_FIELDS = ("index", "uuid", "memory.total", "memory.used", "name")
# The name last: it may hold commas.
PROCESS_FIELDS = ("gpu_uuid", "pid", "used_gpu_memory", "process_name")
MIB = 1024 * 1024

# A device file of the kind, and the variable that its run-time reads.
VARIABLES = (
    ("/dev/nvidiactl", "CUDA_VISIBLE_DEVICES"),
    ("/dev/kfd", "HIP_VISIBLE_DEVICES"),
    ("/dev/davinci_manager", "ASCEND_RT_VISIBLE_DEVICES"),
)


def variable() -> str:
    """The environment variable that names the devices a program may see."""
    for device, name in VARIABLES:
        if os.path.exists(device):
            return name
    return VARIABLES[0][1]


def gpus() -> Tuple[List[Dict[str, Any]], Optional[str]]:
    """The GPUs, and a remark when they could not be asked for."""
    try:
        answer = nvsmi.ask("gpu", FIELDS)
    except nvsmi.Silent as error:
        return [], str(error)
    return [
        {
            "index": nvsmi.whole(row["index"]),
            "name": row["name"],
            "uuid": row["uuid"],
            "memory_bytes": in_bytes(row["memory.total"]),
            "driver": row.get("driver_version"),
        }
        for row in answer.rows
        if nvsmi.whole(row["index"]) is not None
    ], None


def in_bytes(mib: Optional[str]) -> Optional[int]:
    found = nvsmi.whole(mib)
    return None if found is None else found * MIB


def chosen(request: req.Json) -> Optional[List[str]]:
    """The GPUs asked for, by index or UUID; None for all.

    A part of a GPU (MIG) cannot be asked for by itself: then all are looked at.
    """
    given = request.get("gpus")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, (str, int)) for each in given):
        raise BadRequest("'gpus' must be a list of indices or UUIDs, or null")
    names = [str(each).strip() for each in given]
    if not all(name.isdigit() or name.startswith(("GPU-", "MIG-")) for name in names):
        raise BadRequest("'gpus' must hold indices or UUIDs")
    return None if not names or any(name.startswith("MIG-") for name in names) else names


def gpu_processes(request: req.Json) -> Dict[str, Any]:
    """The chosen GPUs with their memory, and the processes on them with name, user and job."""
    which = chosen(request)
    try:
        cards = nvsmi.ask("gpu", BUSY_FIELDS, which).rows
        told = nvsmi.ask("compute-apps", PROCESS_FIELDS).rows
    except nvsmi.Silent as error:
        return {"gpus": [], "processes": [], "note": str(error)}
    indices = {row["uuid"]: nvsmi.whole(row["index"]) for row in cards}
    listed = [
        {
            "index": nvsmi.whole(row["index"]),
            "name": row["name"],
            "memory_bytes": in_bytes(row["memory.total"]),
            "memory_used_bytes": in_bytes(row["memory.used"]),
        }
        for row in cards
    ]
    return {"gpus": listed, "processes": described(told, indices), "note": None}


def described(
    rows: Sequence[Dict[str, Optional[str]]], indices: Dict[Optional[str], Optional[int]]
) -> List[Dict[str, Any]]:
    """The processes of the GPUs in `indices` (by UUID); what cannot be told of one is null."""
    found = []
    for row in rows:
        pid = nvsmi.whole(row["pid"])
        if pid is not None and row["gpu_uuid"] in indices:
            found.append(
                {
                    "gpu": indices[row["gpu_uuid"]],
                    "pid": pid,
                    "name": row["process_name"] or gpuowners.name_of(pid),
                    "user": gpuowners.user_of(pid),
                    "memory_bytes": in_bytes(row["used_gpu_memory"]),
                    "job": gpuowners.job_of(pid),
                    "unit": unit_of(pid),
                }
            )
    return found
