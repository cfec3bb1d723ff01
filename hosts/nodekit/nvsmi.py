"""Asking `nvidia-smi`: fields by their names, values that may be unknown, refusals in words."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

AMD_DEVICE = "/dev/kfd"
PROGRAM = "nvidia-smi"
WAIT_S = 15.0  # without persistence mode the driver is loaded for the question
_NO_FIELD = re.compile(r'Field "([^"]+)" is not a valid field to query')
# What a field is called by drivers that do not know it by this name.
_OLDER = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}
REASONS = (
    (0x1, "idle"),
    (0x2, "application clocks"),
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal"),
    (0x40, "hardware thermal"),
    (0x80, "power brake"),
    (0x100, "display clocks"),
)


class Silent(Exception):
    """It cannot be asked; the text says why, for people."""


class Answer(NamedTuple):
    fields: List[str]  # those that this driver knows, as it calls them
    rows: List[Dict[str, Optional[str]]]


def command(what: str, fields: Sequence[str], which: Optional[Sequence[str]] = None) -> List[str]:
    """`what` is gpu or compute-apps. `which`: indices or UUIDs, None for all."""
    argv = [PROGRAM, "--query-{}={}".format(what, ",".join(fields))]
    argv.append("--format=csv,noheader,nounits")
    return argv + (["-i", ",".join(which)] if which else [])


def ask(what: str, fields: Sequence[str], which: Optional[Sequence[str]] = None) -> Answer:
    """Every row once. Fields that the driver does not know are left out. Raises Silent."""
    known = list(fields)
    while True:
        said, status = _run(command(what, known, which))
        unknown = _NO_FIELD.search(said)
        if status == 0 or unknown is None or unknown.group(1) not in known:
            break
        known = _without(known, unknown.group(1))
    if status != 0:
        raise Silent(refusal(status, said))
    return Answer(known, [row for row in (cells(known, line) for line in said.splitlines()) if row])


def _run(argv: List[str]) -> Tuple[str, int]:
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        process = subprocess.Popen(argv, stdin=nothing, stdout=pipe, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise Silent("nvidia-smi is not installed" + _other_make()) from None
    except OSError as error:
        raise Silent("nvidia-smi cannot be run: {}".format(error.strerror)) from None
    try:
        said, _ = process.communicate(timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()  # and not waited for: in a driver call it may stay for good
        raise Silent("nvidia-smi did not answer within {:g} s".format(WAIT_S)) from None
    return said.decode("utf-8", "replace"), process.returncode


def _other_make() -> str:
    amd = os.path.exists(AMD_DEVICE)
    return "; this node has AMD GPUs, which are not sampled yet" if amd else ""


def _without(fields: List[str], unknown: str) -> List[str]:
    named = (_OLDER.get(unknown) if name == unknown else name for name in fields)
    return [name for name in named if name is not None]


def refusal(status: int, said: str) -> str:
    words = " ".join(said.split())[:300] or "it said nothing"
    return "nvidia-smi failed with exit status {}: {}".format(status, words)


def cells(fields: Sequence[str], line: str) -> Optional[Dict[str, Optional[str]]]:
    """One row by the names of its fields, None for a line that is none.

    The last field takes what is left: a process may be called "a, b".
    """
    values = [value.strip() for value in line.split(",", len(fields) - 1)]
    if len(values) != len(fields) or not line.strip():
        return None
    return {name: known(value) for name, value in zip(fields, values)}


def known(value: str) -> Optional[str]:
    """ "[N/A]", "[Not Supported]", "[Unknown Error]" … are unknown, never 0."""
    return None if value.startswith("[") or value in ("", "N/A") else value


def number(value: Optional[str]) -> Optional[float]:
    try:
        found = None if value is None else float(value)
    except ValueError:
        return None
    return found if found is None or abs(found) < 1e15 else None  # neither inf nor nan


def whole(value: Optional[str]) -> Optional[int]:
    found = number(value)
    return None if found is None else int(found)


def reasons(value: Optional[str]) -> Optional[List[str]]:
    """The words of a mask such as 0x0000000000000024; a bit nobody has named keeps its number."""
    try:
        mask = None if value is None else int(value, 16)
    except ValueError:
        return None
    if mask is None:
        return None
    named = [word for bit, word in REASONS if mask & bit]
    rest = mask & ~sum(bit for bit, _ in REASONS)
    return named + (["bits 0x{:x}".format(rest)] if rest else [])
