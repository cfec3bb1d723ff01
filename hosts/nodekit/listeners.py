"""Who listens on a TCP port, as far as this user may see."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Set

from . import request as req
from .proc import look, unit_of

_LISTEN = "0A"


def listeners(request: req.Json) -> Dict[str, Any]:
    port = req.whole(request, "port", least=1, most=65535)
    sockets = _sockets(port)
    found = [_described(pid) for pid in sorted(_holders(set(sockets)))]
    if sockets and not found:
        # Somebody listens whose files we may not see: another user.
        nobody: Dict[str, Any] = {"pid": None, "pgid": None, "sid": None, "unit": None}
        uids = sorted(set(sockets.values()))
        found = [{**nobody, "start_time": None, "name": None, "uid": uid} for uid in uids]
    return {"listeners": found}


def sockets_on(port: int) -> Set[str]:
    """The inodes of the listening sockets: they change when another process listens."""
    return set(_sockets(port))


def _sockets(port: int) -> Dict[str, int]:
    """The inodes of the listening sockets, IPv4 and IPv6, each with its user's number."""
    inodes: Dict[str, int] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue  # a kernel without IPv6
        for row in rows:
            if row[3] == _LISTEN and int(row[1].rsplit(":", 1)[1], 16) == port:
                inodes[row[9]] = int(row[7])
    return inodes


def _holders(inodes: Set[str]) -> Set[int]:
    links = {"socket:[{}]".format(inode) for inode in inodes}
    if not links:
        return set()
    return {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and links & _open_in(pid)}


def _open_in(pid: str) -> Set[str]:
    folder = "/proc/{}/fd".format(pid)
    try:
        names: List[str] = os.listdir(folder)
    except OSError:
        return set()
    found = set()
    for name in names:
        try:
            found.add(os.readlink(os.path.join(folder, name)))
        except OSError:
            continue  # closed since
    return found


def _described(pid: int) -> Dict[str, Any]:
    process = look(pid)
    return {
        "pid": pid,
        "pgid": process.pgid if process else None,
        "sid": process.sid if process else None,
        "start_time": process.start_time if process else None,
        "name": process.name if process else None,
        "unit": unit_of(pid),
        "uid": _uid_of(pid),
    }


def _uid_of(pid: int) -> Optional[int]:
    try:
        return os.stat("/proc/{}".format(pid)).st_uid
    except OSError:
        return None
