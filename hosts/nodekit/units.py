"""Asking systemd about a unit, and acting on it by exactly the three commands that sudo allows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from typing import Any, Dict, List, Optional

from . import request as req
from .errors import BadRequest, KitError
from .rundir import state_root

UNIT = re.compile(r"[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,239}\.service")
ACTIONS = ("restart", "stop", "reset-failed")
# No pager: under sudo it would be a shell of root's.
QUIET = {"LC_ALL": "C", "SYSTEMD_PAGER": "cat", "SYSTEMD_COLORS": "0"}
PROPERTIES = (
    "LoadState ActiveState SubState Result MainPID InvocationID NRestarts ExecMainCode "
    "ExecMainStatus ActiveEnterTimestampMonotonic FragmentPath DropInPaths ControlGroup User "
    "ExecStart LogRateLimitBurst"
).split()
PLENTY = 100_000  # messages; 0 means that journald's own limit holds, 10,000 in 30 s
COMMAND_S = 20.0
STOP_S = 25.0  # the printed drop-in lets a server take 20 s to end
POLL_S = 0.2
ENDED = re.compile("process exited, code=|Failed with result|oom-kill|OOM killer")
DENIED = re.compile(
    "password is required|not allowed to execute|may not run sudo|not in the sudoers|"
    "no tty present|a terminal is required"
)


def unit_name(request: req.Json, key: str = "unit") -> str:
    value = req.text(request, key)
    if not UNIT.fullmatch(value):
        raise BadRequest("{!r} must be the name of a service: {!r}".format(key, value))
    return value


def show(unit: str) -> Dict[str, str]:
    """The unit's properties as systemd prints them; raises KitError when there is no systemd."""
    words = ["systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", unit]
    done = _run(words)
    if done.returncode != 0:
        raise KitError("no-systemd", "systemctl show: " + _words(done))
    pairs = (line.partition("=") for line in done.stdout.decode("utf-8", "replace").splitlines())
    return {name: value for name, _, value in pairs}


def restarts(shown: Dict[str, str]) -> int:
    return int(shown.get("NRestarts") or 0)


def last_words(unit: str, invocation: str) -> str:
    """How that start of the unit ended, by systemd's own messages: `show` forgets them."""
    words = ["journalctl", "--no-pager", "--quiet", "-o", "cat", "-n", "20"]
    done = _run([*words, "UNIT=" + unit, "INVOCATION_ID=" + invocation])
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    told = [line.partition(": ")[2] for line in lines if ENDED.search(line)]
    return " ".join(each.rstrip(".") + "." for each in told)[:300]


def runs(shown: Dict[str, str]) -> bool:
    return shown.get("ActiveState") not in ("inactive", "failed")


def action(verb: str, unit: str) -> List[str]:
    """The one spelling of a command, for sudo compares it word for word."""
    assert verb in ACTIONS
    words = ["systemctl", verb, "--", unit]
    return words if os.geteuid() == 0 else ["sudo", "-n", *words]


def begin(verb: str, unit: str) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            action(verb, unit), stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT,
            env={**os.environ, **QUIET},
        )  # fmt: skip
    except FileNotFoundError:
        raise KitError("sudo-denied", denied(unit, "There is no sudo on this node.")) from None


def act(verb: str, unit: str, wait_s: float = COMMAND_S) -> None:
    """Raises KitError ``sudo-denied``, or ``unit-failed`` with systemd's words."""
    process = begin(verb, unit)
    try:
        said, _ = process.communicate(timeout=wait_s)
    except subprocess.TimeoutExpired:
        return  # systemd goes on with it; `show` tells what came of it
    judge(verb, unit, process.returncode, said)


def judge(verb: str, unit: str, code: int, said: bytes) -> None:
    if code == 0:
        return
    text = " ".join(said.decode("utf-8", "replace").split())[:300]
    if DENIED.search(text):
        raise KitError("sudo-denied", denied(unit, "sudo says: " + text))
    raise KitError("unit-failed", "systemctl {} {}: {}".format(verb, unit, text))


def denied(unit: str, why: str) -> str:
    return "{} Needed in a file of /etc/sudoers.d: {}".format(why, sudoers(unit))


def sudoers(unit: str) -> str:
    """The rule: this user, this unit, these commands word for word, no pattern anywhere."""
    path = shutil.which("systemctl") or "/usr/bin/systemctl"
    # These characters separate or continue in sudoers; a unit's name may hold two of them.
    escaped = re.sub(r"([\\:=,])", r"\\\1", unit)
    commands = ("{} {} -- {}".format(path, verb, escaped) for verb in ACTIONS)
    return "{} ALL=(root) NOPASSWD: {}".format(user(), ", ".join(commands))


def user() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def uid_of(pid: int) -> Optional[int]:
    try:
        return os.stat("/proc/{}".format(pid)).st_uid if pid else None
    except OSError:
        return None


def command_file(unit: str) -> str:
    return os.path.join(state_root(), "units", unit, "command.json")


def stop_and_wait(unit: str) -> Optional[str]:
    """Why the unit still runs; None when it does not."""
    try:
        act("stop", unit, STOP_S)
    except KitError as error:
        return error.message
    deadline = time.monotonic() + STOP_S
    while runs(show(unit)):
        if time.monotonic() > deadline:
            return "{} still runs {:g} s after systemctl stop".format(unit, STOP_S)
        time.sleep(POLL_S)
    return None


def unit(request: req.Json) -> Dict[str, Any]:
    """Command `unit`: what a person or a run has to know before it is used."""
    name = unit_name(request)
    shown = show(name)
    return {
        "unit": name,
        "user": user(),
        "load_state": shown.get("LoadState"),
        "active_state": shown.get("ActiveState"),
        "runs_as": shown.get("User") or "root",
        "uid": uid_of(int(shown.get("MainPID") or 0)),
        "reads_our_command": command_file(name) in shown.get("ExecStart", ""),
        "command_file": command_file(name),
        "may": may(name),
        "may_everything": may_everything(),
        "sudoers": sudoers(name),
        "reads_journal": reads_journal(),
        "rate_limited": int(shown.get("LogRateLimitBurst") or 0) < PLENTY,
    }


def may(unit: str) -> Dict[str, bool]:
    """Which of the actions sudo says it would allow."""
    if os.geteuid() == 0:
        return dict.fromkeys(ACTIONS, True)
    found = {}
    for verb in ACTIONS:
        done = _run(["sudo", "-n", "-l", "--", *action(verb, unit)[2:]])
        found[verb] = done is not None and done.returncode == 0
    return found


def may_everything() -> bool:
    """Whether this login could do far more than it needs: worth a warning."""
    if os.geteuid() == 0:
        return True
    listed = _run(["sudo", "-n", "-l"]).stdout.decode("utf-8", "replace")
    return bool(re.search(r"^\s+\([^)]*\) (?:[A-Z]+: )*(?:ALL|\S*/systemctl)\s*$", listed, re.M))


def reads_journal() -> bool:
    """Whether this login sees what other users' services write."""
    if os.geteuid() == 0:
        return True
    for base in ("/var/log/journal", "/run/log/journal"):
        try:
            folders = os.listdir(base)
        except OSError:
            continue
        paths = [os.path.join(base, folder, "system.journal") for folder in folders]
        if any(os.access(path, os.R_OK) for path in paths):
            return True
    return False


def _run(words: List[str]) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **QUIET}, timeout=COMMAND_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, b"", words[0].encode() + b" is not there")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, b"", b"no answer in time")


def _words(done: "subprocess.CompletedProcess[bytes]") -> str:
    said = (done.stderr or done.stdout).decode("utf-8", "replace")
    return " ".join(said.split())[:300]
