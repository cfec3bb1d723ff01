"""A demo of its own: the whole product on a state folder that nobody else uses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webapp.embedded.ports import any_free

ROOT = Path(__file__).resolve().parent.parent
STOP_S = 30.0


@contextmanager
def demo(var: Path) -> Iterator[str]:
    """A running demo; gives its one-time sign-in link."""
    process = subprocess.Popen(
        [
            *(sys.executable, "manage.py", "demo"),
            *("--port", str(any_free()), "--ssh-port", str(any_free())),
        ],
        cwd=ROOT,
        env={**os.environ, "THROUGHLINE_VAR": str(var)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield _link(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=STOP_S)


def _link(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"sign in +(\S+)", line):
            return found.group(1)
    raise SystemExit("The demo did not start.")
