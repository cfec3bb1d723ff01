"""What happens to the server's prefix cache before a level: emptied, or left as it is.

`new-seed` leaves it and asks other prompts instead; whoever makes the prompts sees to that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple

from . import http
from . import request as req
from .address import host_and_port
from .errors import BadRequest

POLICIES = ("keep", "flush", "new-seed")
# A server refuses while anything is in flight, and the readiness check may just be ending.
TRIES = 5
PAUSE_S = 0.4
TIMEOUT_S = 30.0
MAX_ANSWER_BYTES = 2000


@dataclass(frozen=True)
class CachePolicy:
    name: str
    base_url: str
    flush: Tuple[str, str]  # method and path of the request that empties the cache


def parse_policy(value: req.Json) -> CachePolicy:
    """Of a specification; one without "cache" keeps what is cached."""
    given = {} if value.get("cache") is None else req.mapping(value, "cache")
    name = req.text({"policy": "keep", **given}, "policy")
    if name not in POLICIES:
        raise BadRequest("'policy' must be one of {}".format(", ".join(POLICIES)))
    base_url = req.text(value, "base_url")
    host_and_port(base_url)
    flush = (given.get("method", "POST"), given.get("path", "/flush_cache"))
    return CachePolicy(name, base_url, (str(flush[0]), str(flush[1])))


def apply(
    policy: CachePolicy, stopped: Callable[[], bool], sleep: Callable[[float], None] = time.sleep
) -> Optional[Dict[str, Any]]:
    """Before a level: what came of it, to be told as a `cache` record; None for nothing to tell."""
    if policy.name != "flush":
        return None
    answer: Dict[str, Any] = {}
    tries = 0
    while tries < TRIES and not stopped():
        if tries:
            sleep(PAUSE_S)
        tries += 1
        answer = _ask(policy)
        if answer["status"] == 200 or answer["status"] in (401, 403, 404, 405):
            break
    ok = answer.get("status") == 200
    text = str(answer.get("error") or answer.get("body") or "").strip()
    return {
        "policy": "flush",
        "ok": ok,
        "status": answer.get("status"),
        "tries": tries,
        "text": text[:300],
    }


def _ask(policy: CachePolicy) -> Dict[str, Any]:
    method, path = policy.flush
    wanted = {
        "name": "flush",
        "method": method,
        "path": path,
        "json": {},
        "timeout_s": TIMEOUT_S,
        "max_bytes": MAX_ANSWER_BYTES,
    }
    answers = http.ask({"base_url": policy.base_url, "requests": [wanted]})
    found: Dict[str, Any] = answers["responses"]["flush"]
    return found
