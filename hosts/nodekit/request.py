"""Reading a request's keys: every wrong one is refused by name, unknown ones are ignored."""

from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Dict, List, Optional, Tuple

from .errors import BadRequest

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
MAX_REQUEST_BYTES = 16 * 1024 * 1024
MAX_RANGES = 10000

Json = Dict[str, Any]


def receive(fd: int) -> Json:
    """One JSON object from `fd`: up to its end, or to the newline that completes it.

    Stopping at the newline lets a client keep stdin open, which is how `follow` learns that
    its reader has gone.
    """
    data = b""
    while len(data) <= MAX_REQUEST_BYTES:
        chunk = os.read(fd, 65536)
        data += chunk
        if not chunk:
            return _object(data.strip() or b"{}")
        if chunk.endswith(b"\n"):
            try:
                return _object(data)
            except BadRequest:
                continue  # an object spread over several lines: its end is still to come
    raise BadRequest("the request is longer than 16 MiB")


def _object(data: bytes) -> Json:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise BadRequest("the request is not JSON: {}".format(error)) from None
    if not isinstance(value, dict):
        raise BadRequest("the request is not a JSON object")
    return value


def text(request: Json, key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str) or "\0" in value:
        raise BadRequest("{!r} must be a text".format(key))
    return value


def name(request: Json, key: str) -> str:
    """A text that may safely become one part of a path."""
    value = text(request, key)
    if not NAME.fullmatch(value):
        raise BadRequest("{!r} must be 1 to 64 of A-Z a-z 0-9 _ . -, no dot first".format(key))
    return value


def whole(request: Json, key: str, *, least: int, most: Optional[int] = None) -> int:
    value = request.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadRequest("{!r} must be a whole number".format(key))
    if value < least or (most is not None and value > most):
        upper = "" if most is None else " and at most {}".format(most)
        raise BadRequest("{!r} must be at least {}{}".format(key, least, upper))
    return value


def whole_or_none(request: Json, key: str) -> Optional[int]:
    return None if request.get(key) is None else whole(request, key, least=1)


def seconds(request: Json, key: str) -> float:
    value = request.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadRequest("{!r} must be a number of seconds".format(key))
    if not math.isfinite(value) or value < 0:
        raise BadRequest("{!r} must be a number of seconds, zero or more".format(key))
    return float(value)


def seconds_or_none(request: Json, key: str) -> Optional[float]:
    return None if request.get(key) is None else seconds(request, key)


def mapping(request: Json, key: str) -> Json:
    value = request.get(key)
    if not isinstance(value, dict):
        raise BadRequest("{!r} must be an object".format(key))
    return value


def texts(request: Json, key: str) -> Dict[str, str]:
    """An object whose values are texts; one that is absent or null is empty."""
    if request.get(key) is None:
        return {}
    return {inner: text(mapping(request, key), inner) for inner in mapping(request, key)}


def parts(request: Json, key: str) -> List[str]:
    """A command line in parts, the program first."""
    value = request.get(key)
    if not isinstance(value, list) or not value:
        raise BadRequest("{!r} must be a list of texts, the program first".format(key))
    if not all(isinstance(part, str) and "\0" not in part for part in value):
        raise BadRequest("{!r} must hold texts only".format(key))
    return [str(part) for part in value]


def ranges(request: Json, key: str) -> List[Tuple[int, int]]:
    """Pairs [start, end) of byte positions; none if the key is absent."""
    value = request.get(key, [])
    if not isinstance(value, list) or len(value) > MAX_RANGES:
        raise BadRequest("{!r} must be a list of at most {} pairs".format(key, MAX_RANGES))
    found = []
    for pair in value:
        whole_numbers = isinstance(pair, list) and all(type(part) is int for part in pair)
        if not whole_numbers or len(pair) != 2 or not 0 <= pair[0] <= pair[1]:
            raise BadRequest("{!r} must hold pairs [start, end] of byte positions".format(key))
        found.append((pair[0], pair[1]))
    return found
