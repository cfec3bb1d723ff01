"""Whether logind ends what a login leaves running: then no job would outlive its start."""

from __future__ import annotations

import re
import subprocess
from typing import Optional

from .units import user

LOGIN1 = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
WAIT_S = 5.0


def kills_what_we_leave() -> Optional[bool]:
    """By logind's own settings for this user; None where there is no logind to ask."""
    said = _ask("KillUserProcesses", "KillExcludeUsers", "KillOnlyUsers")
    if said is None or len(said) != 3:
        return None
    kills, spared, only = said
    listed = _names(only)
    return kills == "b true" and user() not in _names(spared) and (not listed or user() in listed)


def _names(value: str) -> "list[str]":
    """busctl prints a list of texts as: as 2 "root" "ops"."""
    return re.findall(r'"([^"]*)"', value)


def _ask(*properties: str) -> "Optional[list[str]]":
    try:
        done = subprocess.run(
            ["busctl", "--system", "get-property", *LOGIN1, *properties],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=WAIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else None
