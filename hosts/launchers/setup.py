"""What an administrator installs once, so that a unit runs what a run wants and nothing more.

The unit starts a wrapper that belongs to root and runs, as the login's own user, the command that
the login may write. So the login gains nothing it could not do anyway, and needs sudo for three
exact commands on this one unit.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

WRAPPER = "/usr/local/lib/throughline/run-unit"
WRAPPER_TEXT = '''#!/usr/bin/python3 -I
"""Run the command that Throughline has written for this unit: run-unit FILE."""

import json
import os
import stat
import sys

fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
found = os.fstat(fd)
if os.geteuid() == 0:
    sys.exit("run-unit: this unit runs as root; give it the User= of Throughline's login")
if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
    sys.exit("run-unit: the file must be this user's own, with mode 0600")
with os.fdopen(fd, "rb") as file:
    told = json.load(file)
os.chdir(told["cwd"] or os.path.expanduser("~"))
os.execvpe(told["argv"][0], told["argv"], {**os.environ, **told["env"]})
'''


@dataclass(frozen=True)
class File:
    """A file for the administrator: where, with which mode, and what stands in it."""

    path: str
    mode: str
    text: str

    @property
    def command(self) -> str:
        """Installs it, pasted into a root shell."""
        folder = shlex.quote(self.path.rpartition("/")[0])
        path = shlex.quote(self.path)
        text = self.text.removesuffix("\n")
        return (
            f"mkdir -p {folder}\ninstall -m {self.mode} /dev/stdin {path} <<'END_OF_FILE'\n"
            f"{text}\nEND_OF_FILE"
        )


@dataclass(frozen=True)
class UnitSetup:
    """What has to be installed for a unit; ``problems`` is what is still in the way."""

    unit: str
    files: tuple[File, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def commands(self) -> str:
        after = f"visudo -c\nsystemctl daemon-reload\nsystemctl show -p ExecStart -- {self.unit}"
        return "\n".join([*(file.command for file in self.files), after])


def unit_setup(told: dict[str, Any], *, restart_only: bool = False) -> UnitSetup:
    """From what the node kit's `unit` answered. ``restart_only``: its arguments stay its own."""
    unit, user = told["unit"], told["user"]
    sudoers = File(_sudoers_path(unit), "0440", told["sudoers"] + "\n")
    ours = () if restart_only else (File(WRAPPER, "0755", WRAPPER_TEXT), *_unit_files(told))
    files = ours if user == "root" else (*ours, sudoers)
    why = [*problems(told, restart_only=restart_only), *filter(None, [denied(told)])]
    return UnitSetup(unit, files, tuple(why), tuple(warnings(told)))


def _sudoers_path(unit: str) -> str:
    # sudo reads no file with a dot in its name, and none that ends with ~
    return "/etc/sudoers.d/throughline-" + "".join(c if c.isalnum() else "-" for c in unit)


def _unit_files(told: dict[str, Any]) -> tuple[File, ...]:
    unit = told["unit"]
    folder = f"/etc/systemd/system/{unit}"
    file = told["command_file"].replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    dropin = (
        "[Service]\n"
        f"User={told['user']}\n"
        "ExecStart=\n"
        f'ExecStart={WRAPPER} "{file}"\n'
        "StandardOutput=journal\n"
        "StandardError=journal\n"
        "# every line of the log counts\n"
        "LogRateLimitIntervalSec=1s\n"
        "LogRateLimitBurst=1000000\n"
        "# then it is killed; a run waits no longer\n"
        "TimeoutStopSec=20\n"
    )
    files = [File(f"{folder}.d/throughline.conf", "0644", dropin)]
    if told["load_state"] != "loaded":
        text = f"[Unit]\nDescription=LLM server that Throughline measures\n\n{dropin}"
        files = [File(folder, "0644", text.replace("ExecStart=\n", "", 1))]
    return tuple(files)


def problems(told: dict[str, Any], *, restart_only: bool) -> list[str]:
    """Why a run of this unit would fail, in sentences; a run stops at the first."""
    found = []
    if told["load_state"] != "loaded":
        found.append(f"There is no unit {told['unit']} on this host.")
    elif not restart_only and not told["reads_our_command"]:
        found.append(
            f"{told['unit']} does not start the wrapper that reads {told['command_file']}."
        )
    elif not restart_only and told["runs_as"] != told["user"]:
        found.append(
            f"{told['unit']} runs as {told['runs_as']} and not as {told['user']}, "
            "so the wrapper refuses the command."
        )
    if not told["reads_journal"]:
        found.append(
            f"{told['user']} may not read the journal: usermod -aG systemd-journal {told['user']}"
        )
    return found


def denied(told: dict[str, Any]) -> str | None:
    """Which commands sudo does not allow, with the line that allows them."""
    missing = [verb for verb, allowed in told["may"].items() if not allowed]
    if not missing:
        return None
    return (
        f"sudo does not let {told['user']} {', '.join(missing)} {told['unit']}. "
        f"Needed in a file of /etc/sudoers.d: {told['sudoers']}"
    )


def warnings(told: dict[str, Any]) -> list[str]:
    """What goes, and should be otherwise."""
    found = []
    if told["may_everything"]:
        found.append(
            f"{told['user']} may run everything as root here. Throughline needs three commands."
        )
    if told["rate_limited"]:
        found.append(
            "journald may suppress messages of this unit when it writes fast: "
            "set LogRateLimitIntervalSec=1s and LogRateLimitBurst=1000000."
        )
    return found
