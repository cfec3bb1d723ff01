"""Named places where a test makes us fail. Armed by the environment only, else they cost nothing.

`THROUGHLINE_FAILPOINTS="start-load.sent=sigkill,record.committed=sleep:3"`; what may be done is
`raise`, `sigkill` and `sleep:SECONDS`. Each fires once in a process, and says so on stderr first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Dict

VARIABLE = "THROUGHLINE_FAILPOINTS"


class Failpoint(Exception):
    """What an armed failpoint raises; nobody expects it, as nobody expects a real fault."""


def parse(text: str) -> Dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {name.strip(): what.strip() for name, _, what in pairs}


_armed = parse(os.environ.get(VARIABLE, ""))


def failpoint(name: str) -> None:
    """Does nothing, unless this name is armed."""
    if _armed and name in _armed:
        _fire(name, _armed.pop(name))


def _fire(name: str, what: str) -> None:
    sys.stderr.write("failpoint {} fires: {}\n".format(name, what))
    sys.stderr.flush()
    if what == "raise":
        raise Failpoint(name)
    if what == "sigkill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what.startswith("sleep:"):
        time.sleep(float(what[len("sleep:") :]))
    else:
        raise ValueError("a failpoint cannot {!r}".format(what))
