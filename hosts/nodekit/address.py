"""The address of a server on this node."""

from __future__ import annotations

from typing import Tuple
from urllib.parse import urlsplit

from .errors import BadRequest


def host_and_port(base_url: str) -> Tuple[str, int]:
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        raise BadRequest("'base_url' is not an address: {}".format(error)) from None
    if parts.scheme != "http" or not parts.hostname or not port or parts.path not in ("", "/"):
        raise BadRequest("'base_url' must look like http://127.0.0.1:30000")
    return parts.hostname, port
