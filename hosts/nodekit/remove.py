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
        path, going = (os.path.join(state_root(), "runs", p) for p in (name, GOING + name))
        here, begun = _is_folder(path), _is_folder(going)
        if here and lives(path):
            told["alive"].append(name)
        elif here or begun:
            told["bytes"] += _remove(path, going)
            told["removed"].append(name)
        else:
            told["absent"].append(name)
    return told


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str, going: str) -> int:
    """Out of the way in one step, then piece by piece; how many bytes of disk it took.

    What an earlier request had begun to remove when it was cut short goes first.
    """
    size = _clear(going)
    if _is_folder(path):
        os.rename(path, going)
        size += _clear(going)
    return size


def _clear(folder: str) -> int:
    if not _is_folder(folder):
        return 0
    size = sum(_on_disk(os.path.join(at, file)) for at, file in _files(folder))
    shutil.rmtree(folder)
    return size


def _files(folder: str) -> List[Any]:
    return [(at, file) for at, _, files in os.walk(folder) for file in files]


def _on_disk(path: str) -> int:
    return os.lstat(path).st_blocks * 512
