"""Which runs have a folder here. Only looked at: nobody deletes what nobody here knows."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from .locks import is_held
from .request import NAME, Json
from .rundir import state_root

MOST = 500  # an answer stays small; how many more there are is told


def folders(request: Json) -> Dict[str, Any]:
    """Newest first: name, time of the last change in it, and whether a job of it is alive."""
    root = os.path.join(state_root(), "runs")
    found = sorted(_found(root), key=lambda each: float(each["at"]), reverse=True)
    return {"runs": found[:MOST], "more": max(0, len(found) - MOST)}


def _found(root: str) -> List[Dict[str, Any]]:
    try:
        entries = list(os.scandir(root))
    except OSError:
        return []  # nothing ever ran here
    return [
        {"name": entry.name, "at": entry.stat().st_mtime, "alive": lives(entry.path)}
        for entry in entries
        if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
    ]


def lives(run: str) -> bool:
    """Whether the supervisor of any of its jobs holds its lock."""
    for folder, _, files in os.walk(run):
        if "alive.lock" in files and is_held(os.path.join(folder, "alive.lock")):
            return True
    return False
