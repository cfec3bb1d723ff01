"""What kind of machine this is, and which engines it has. What cannot be told is null."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import socket
import sys
import time
from typing import Any, Dict, List, Optional

from .gpus import gpus, variable
from .machine import boot_id, machine_id
from .request import Json
from .rundir import state_root
from .sessions import kills_what_we_leave
from .units import user

ENGINES = ("sglang", "vllm")


def facts(request: Json) -> Dict[str, Any]:
    cards, note = gpus()
    now = time.time()
    return {
        "hostname": socket.gethostname(),
        "os": _value_in("/etc/os-release", "PRETTY_NAME", "="),
        "kernel": platform.release(),
        "cpu_model": _value_in("/proc/cpuinfo", "model name", ":") or platform.processor() or None,
        "cpu_count": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "python": platform.python_version(),
        "user": user(),
        "boot_id": boot_id(),
        "machine_id": machine_id(),
        "kills_user_processes": kills_what_we_leave(),
        "utc_offset_s": time.localtime(now).tm_gmtoff,
        "time": now,
        **_disk(),
        "gpus": cards,
        "gpu_note": note,
        "gpu_variable": variable(),
        "engines": _installed() + _declared(),
    }


def _value_in(path: str, key: str, sign: str) -> Optional[str]:
    """The value of the first line `key sign value`."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                name, found, value = line.partition(sign)
                if found and name.strip() == key:
                    return value.strip().strip('"') or None
    except OSError:
        pass  # not this kind of system
    return None


def _memory_bytes() -> Optional[int]:
    value = _value_in("/proc/meminfo", "MemTotal", ":")
    return int(value.split()[0]) * 1024 if value else None


def _disk() -> Dict[str, Any]:
    """Where the kit keeps its things: room for bytes and for files, and whether it may write."""
    path = state_root()
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    found: Dict[str, Any] = {"disk_free_bytes": None, "files_free": None}
    try:
        disk = os.statvfs(path)
        found["disk_free_bytes"] = disk.f_bavail * disk.f_frsize
        found["files_free"] = disk.f_favail if disk.f_files else None  # btrfs counts none
    except OSError:
        pass  # nobody can tell
    return {**found, "state_dir": state_root(), "state_writable": os.access(path, os.W_OK)}


def _installed() -> List[Dict[str, Any]]:
    found = []
    for name in ENGINES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append({"name": name, "version": version, "python": sys.executable})
    return found


def _declared() -> List[Any]:
    """Engines that the node's owner lists by hand, taken as they are."""
    try:
        with open(os.path.join(state_root(), "engines.json"), "rb") as file:
            listed = json.loads(file.read())
    except (OSError, ValueError):
        return []
    return listed if isinstance(listed, list) else []
