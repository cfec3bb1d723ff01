"""The demo node's home: what is installed there, and the environment of every command.

The engine is started by its ordinary command. That works because a small package of that name lies
on the home's PYTHONPATH and hands over to the simulator, which is copied beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosts.nodekit.machine import SIMULATED

USER = "demo"
ENGINE_VERSION = "0.5.20"  # the release whose flags, answers and log lines are imitated
SIMULATOR = Path(__file__).parent / "simulator"
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

_PACKAGE = f'''"""Not SGLang: a simulation of it, for trying out and for tests."""

__version__ = "{ENGINE_VERSION}"
'''
_LAUNCH_SERVER = '''"""python3 -m sglang.launch_server FLAGS"""

import sys

from throughline_sim.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
_BENCH = '''"""python3 -m sglang.bench_serving FLAGS"""

import sys

from throughline_sim.bench import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
_CLI = '''"""sglang serve FLAGS"""

import sys

from throughline_sim.server import main

if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        sys.exit(main(sys.argv[2:]))
    if sys.argv[1:2] == ["version"]:
        from sglang import __version__

        print("sglang version:", __version__)
        sys.exit(0)
    sys.exit("usage: sglang serve --model-path MODEL --port PORT ... | sglang version")
'''
_NVIDIA_SMI = '#!/bin/sh\nexec python3 -S -m throughline_sim.nvidiasmi "$@"\n'
_COMMAND = '#!/bin/sh\nexec python3 -m sglang.cli "$@"\n'


@dataclass(frozen=True)
class Home:
    """A node's home folder; everything of the node lies in it."""

    path: Path

    def install(self) -> None:
        """Lay everything out as this version wants it. Jobs and their logs are left alone."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._install_engine()
        self._install_commands()
        self._declare_engine()
        self._be_a_machine()

    @property
    def state(self) -> Path:
        """Where the node kit keeps its things."""
        return self.path / ".local" / "state" / "throughline"

    def environment(self) -> dict[str, str]:
        """Of every command: the way to the programs and to their GPUs. No secret gets there."""
        paths = [str(self.path / "bin"), *SYSTEM_PATH]
        paths += [p for p in _inherited_path(os.environ) if p not in paths]
        return {
            "HOME": str(self.path),
            "USER": USER,
            "LOGNAME": USER,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(self.path / "lib"),
            "PYTHONUNBUFFERED": "1",
            "THROUGHLINE_SIM_STATE": str(self.path / ".gpus"),
        }

    def _install_engine(self) -> None:
        lib = self.path / "lib"
        for name in ("throughline_sim", "sglang"):
            shutil.rmtree(lib / name, ignore_errors=True)
        shutil.copytree(
            SIMULATOR, lib / "throughline_sim", ignore=shutil.ignore_patterns("__pycache__")
        )
        (lib / "sglang").mkdir()
        (lib / "sglang" / "__init__.py").write_text(_PACKAGE)
        (lib / "sglang" / "launch_server.py").write_text(_LAUNCH_SERVER)
        (lib / "sglang" / "bench_serving.py").write_text(_BENCH)
        (lib / "sglang" / "cli.py").write_text(_CLI)

    def _install_commands(self) -> None:
        bin_ = self.path / "bin"
        bin_.mkdir(exist_ok=True)
        for name, text in (("sglang", _COMMAND), ("nvidia-smi", _NVIDIA_SMI)):
            (bin_ / name).write_text(text)
            (bin_ / name).chmod(0o755)
        python = bin_ / "python3"
        python.unlink(missing_ok=True)
        python.symlink_to(interpreter())

    def end_of_boot(self) -> None:
        """The machine is off: the next start is another boot."""
        told = self._machine()
        if told.pop("boot", None):
            self._write_machine(told)

    def _be_a_machine(self) -> None:
        """Ids that other simulated nodes of this machine do not have; a boot lasts until its end.

        The kit counts them beside the real ones (hosts/nodekit/machine.py).
        """
        told = self._machine()
        if {"machine", "boot"} - told.keys():
            self._write_machine({"machine": uuid.uuid4().hex, "boot": uuid.uuid4().hex} | told)

    def _machine(self) -> dict[str, str]:
        path = self.state / SIMULATED
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write_machine(self, told: dict[str, str]) -> None:
        written = self.state / f"{SIMULATED}.new"
        written.write_text(json.dumps(told) + "\n")
        written.replace(self.state / SIMULATED)

    def _declare_engine(self) -> None:
        """The kit lists what is declared here beside what it finds installed."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        engine = {
            "name": "sglang",
            "version": ENGINE_VERSION,
            "simulated": True,
            "python": "python3",
        }
        (self.state / "engines.json").write_text(json.dumps([engine]) + "\n")


def interpreter() -> str:
    """The Python behind our virtual environment: the node must not see our packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (
        Path(sys.base_prefix) / "bin" / version,
        getattr(sys, "_base_executable", ""),
    ):
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    return sys.executable


def _inherited_path(environ: Mapping[str, str]) -> list[str]:
    """Where this machine keeps its tools, if not in the usual places; no virtual environment."""
    folders = environ.get("PATH", "").split(os.pathsep)
    return [p for p in folders if os.path.isabs(p) and not Path(p, "..", "pyvenv.cfg").exists()]
