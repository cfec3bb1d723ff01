"""`python3 KIT COMMAND`: one request in on stdin, one JSON object out as stdout's last line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Dict, List

from . import follow as following
from . import http, supervise
from .errors import EXIT_FAILED, BadRequest, KitError
from .facts import facts
from .files import digest, read
from .listeners import listeners
from .request import Json, receive
from .start import start
from .status import status
from .stop import stop

COMMANDS: Dict[str, Callable[[Json], Dict[str, Any]]] = {
    "facts": facts,
    "start": start,
    "status": status,
    "stop": stop,
    "http": http.ask,
    "listeners": listeners,
    "read": read,
    "digest": digest,
}


def main(arguments: List[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "supervise":
        return supervise.main(arguments[1], int(arguments[2]))
    if command == "follow":
        return _follow()
    return _answer(command)


def _answer(command: str) -> int:
    exit_status = 0
    try:
        if command not in COMMANDS:
            raise BadRequest("there is no command {!r}".format(command), code="no-such-command")
        reply = COMMANDS[command](receive(0))
    except Exception as error:
        reply, exit_status = _refusal(error)
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
    return exit_status


def _follow() -> int:
    """Its stdout is the file's bytes, so what goes wrong is told on stderr."""
    try:
        following.follow(receive(0), 0, 1)
    except Exception as error:
        reply, exit_status = _refusal(error)
        os.write(2, (json.dumps(reply) + "\n").encode())
        return exit_status
    return 0


def _refusal(error: Exception) -> "tuple[Dict[str, Any], int]":
    if isinstance(error, KitError):
        return {"error": {"code": error.code, "message": error.message}}, error.exit_status
    message = "{}: {}".format(type(error).__name__, error)
    return {"error": {"code": "internal", "message": message}}, EXIT_FAILED
