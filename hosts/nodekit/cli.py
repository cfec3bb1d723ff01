"""`python3 KIT COMMAND`: one request in on stdin, one JSON object out as stdout's last line."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any, Callable, Dict, List, cast

from .errors import EXIT_FAILED, BadRequest, KitError
from .request import Json, receive

# By module and function, imported when called for: `status` is asked often and needs little.
COMMANDS = {
    "facts": ("facts", "facts"),
    "folders": ("folders", "folders"),
    "remove": ("remove", "remove"),
    "start": ("start", "start"),
    "status": ("status", "status"),
    "stop": ("stop", "stop"),
    "http": ("http", "ask"),
    "listeners": ("listeners", "listeners"),
    "gpu-processes": ("gpus", "gpu_processes"),
    "unit": ("units", "unit"),
    "read": ("files", "read"),
    "digest": ("files", "digest"),
}
Handler = Callable[[Json], Dict[str, Any]]


def main(arguments: List[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "supervise":
        from . import supervise

        return supervise.main(arguments[1], int(arguments[2]))
    if command == "load" and len(arguments) == 2:
        from . import load

        return load.main(arguments[1])
    if command == "bench" and len(arguments) == 2:
        from . import bench

        return bench.main(arguments[1])
    if command == "gpu" and len(arguments) == 2:
        from . import gpusample

        return gpusample.main(arguments[1])
    if command == "keep" and len(arguments) == 2:
        from . import keep

        return keep.main(arguments[1])
    return _follow() if command == "follow" else _answer(command)


def _handler(command: str) -> Handler:
    if command not in COMMANDS:
        raise BadRequest("there is no command {!r}".format(command), code="no-such-command")
    module, function = COMMANDS[command]
    return cast(Handler, getattr(import_module("." + module, __package__), function))


def _answer(command: str) -> int:
    exit_status = 0
    try:
        reply = _handler(command)(receive(0))
    except Exception as error:
        reply, exit_status = _refusal(error)
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
    return exit_status


def _follow() -> int:
    """Its stdout is the file's bytes, so what goes wrong is told on stderr."""
    try:
        from .follow import follow

        follow(receive(0), 0, 1)
    except Exception as error:
        reply, exit_status = _refusal(error)
        os.write(2, (json.dumps(reply) + "\n").encode())
        return exit_status
    return 0


def _refusal(error: Exception) -> "tuple[Dict[str, Any], int]":
    if isinstance(error, KitError):
        told = {**error.details, "code": error.code, "message": error.message}
        return {"error": told}, error.exit_status
    message = "{}: {}".format(type(error).__name__, error)
    return {"error": {"code": "internal", "message": message}}, EXIT_FAILED
