"""Take run folders away: those that are named, and none of which anything lives."""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, List

from . import request as req
from .errors import BadRequest
from .folders import lives
from .rundir import state_root

GOING = ".going-"  # no run is called so: what was begun to be removed is never taken for one
MOST = 500


def remove(request: req.Json) -> Dict[str, Any]:
    """`runs` are names of folders; each comes back as removed, alive or absent."""
    names = request.get("runs")
    if not isinstance(names, list) or len(names) > MOST:
        raise BadRequest("'runs' must be a list of at most {} names".format(MOST))
    told: Dict[str, Any] = {"removed": [], "alive": [], "absent": [], "bytes": 0}
    for each in names:
        name = req.name({"runs": each}, "runs")
        path = os.path.join(state_root(), "runs", name)
        if os.path.islink(path) or not os.path.isdir(path):
            told["absent"].append(name)
        elif lives(path):
            told["alive"].append(name)
        else:
            told["bytes"] += _remove(path, name)
            told["removed"].append(name)
    return told


def _remove(path: str, name: str) -> int:
    """Out of the way in one step, then piece by piece; how many bytes of disk it took."""
    going = os.path.join(os.path.dirname(path), GOING + name)
    if os.path.isdir(going):  # one that was cut short
        shutil.rmtree(going)
    os.rename(path, going)
    size = sum(_on_disk(os.path.join(at, file)) for at, file in _files(going))
    shutil.rmtree(going)
    return size


def _files(folder: str) -> List[Any]:
    return [(at, file) for at, _, files in os.walk(folder) for file in files]


def _on_disk(path: str) -> int:
    return os.lstat(path).st_blocks * 512
