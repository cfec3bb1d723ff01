"""Whether a target can be one at all; asked before anything is built from its text."""

from __future__ import annotations

import ipaddress
import re

from hosts.transport.addresses import refusal
from hosts.transport.errors import LoginRefused, TransportError, Unreachable
from hosts.transport.protocol import MAX_JUMPS, Target
from hosts.transport.sentences import too_many_jumps

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*\Z")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")


def problem_with(target: Target) -> TransportError | None:
    """The form refuses such a host already; this is for what came into the database otherwise."""
    if len(target.way) > MAX_JUMPS + 1:
        return too_many_jumps(target)
    if not _is_address(target.address):
        return Unreachable(
            f"{target.address!r} is no host name or IP address. Nothing was sent. "
            "Correct the host's address."
        )
    if why := refusal(target.address, loopback=target.loopback or target.jump is not None):
        return Unreachable(f"{why} Nothing was sent. Correct the host's address.")
    if not 1 <= target.port <= 65535:
        return Unreachable(f"{target.port} is no port. Nothing was sent. Correct the host's port.")
    if not _USER.match(target.user):
        return LoginRefused(
            f"{target.user!r} is no login name. Nothing was sent. Correct the host's user."
        )
    return None


def _is_address(text: str) -> bool:
    if _HOST_NAME.match(text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone names an interface of this machine
