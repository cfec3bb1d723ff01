"""Which machine this is, and which of its boots.

A simulated node shares its machine with others of its kind: `<state root>/simulated.json` gives it
a "machine" and a "boot" of its own, which count beside the real ones. Real nodes have no such file.
"""

from __future__ import annotations

import hashlib
import os
from typing import Optional

from .jsonfile import read_json
from .rundir import state_root

MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SIMULATED = "simulated.json"


def boot_id() -> Optional[str]:
    try:
        with open(BOOT_ID) as file:
            return file.read().strip() + _simulated("boot")
    except OSError:
        return None


def machine_id() -> Optional[str]:
    """The same through every boot and under every name of the machine.

    Hashed, as its manual asks of whoever shows it elsewhere.
    """
    for path in MACHINE_IDS:
        try:
            with open(path, "rb") as file:
                told = file.read(200).strip()
        except OSError:
            continue
        if len(told) == 32:  # images are delivered with an empty one, or "uninitialized"
            named = b"throughline machine " + told + _simulated("machine").encode()
            return hashlib.sha256(named).hexdigest()[:32]
    return None


def _simulated(what: str) -> str:
    """The addition to an id; empty on a real node."""
    told = (read_json(os.path.join(state_root(), SIMULATED)) or {}).get(what)
    return "-" + told if isinstance(told, str) else ""
