"""What happens to the server's prefix cache before a level: emptied, or left as it is.

`new-seed` leaves it and asks other prompts instead; whoever makes the prompts sees to that.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

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
COUNTERS_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class CachePolicy:
    name: str
    base_url: str
    flush: Tuple[str, str]  # method and path of the request that empties the cache
    hint: str = ""  # what a server that does not know the path may need
    counters: Optional[Dict[str, str]] = None  # path, and the names "cached" and "asked" there


def parse_policy(value: req.Json) -> CachePolicy:
    """Of a specification; one without "cache" keeps what is cached."""
    given = {} if value.get("cache") is None else req.mapping(value, "cache")
    name = req.text({"policy": "keep", **given}, "policy")
    if name not in POLICIES:
        raise BadRequest("'policy' must be one of {}".format(", ".join(POLICIES)))
    base_url = req.text(value, "base_url")
    host_and_port(base_url)
    flush = (given.get("method", "POST"), given.get("path", "/flush_cache"))
    hint = str(given.get("hint") or "")
    counters = req.texts(given, "counters") or None
    return CachePolicy(name, base_url, (str(flush[0]), str(flush[1])), hint, counters)


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
        if _granted(answer) or answer["status"] in (401, 403, 404, 405):
            break
    ok = _granted(answer)
    text = str(answer.get("error") or answer.get("body") or "").strip()
    if answer.get("status") in (404, 405) and policy.hint:
        text = policy.hint
    return {
        "policy": "flush",
        "ok": ok,
        "status": answer.get("status"),
        "tries": tries,
        "text": text[:300],
    }


def counted(policy: CachePolicy) -> Optional[Dict[str, int]]:
    """Prompt tokens so far by the server's own counters: "cached" and "asked"; None: not told."""
    names = policy.counters
    if names is None:
        return None
    wanted = {
        "name": "counters",
        "method": "GET",
        "path": names["path"],
        "timeout_s": COUNTERS_TIMEOUT_S,
        "max_bytes": http.MAX_BODY_BYTES,
    }
    answers = http.ask({"base_url": policy.base_url, "requests": [wanted]})
    lines = answers["responses"]["counters"]["body"].splitlines()
    sums = {key: _sum(lines, names[key]) for key in ("cached", "asked")}
    found = {key: value for key, value in sums.items() if value is not None}
    return found if len(found) == len(sums) else None


def moved(
    before: Optional[Dict[str, int]], after: Optional[Dict[str, int]]
) -> Optional[Dict[str, int]]:
    """What was counted in between; None where that is not known."""
    if before is None or after is None or after["asked"] < before["asked"]:
        return None
    return {key: after[key] - before[key] for key in after}


def _sum(lines: List[str], name: str) -> Optional[int]:
    """Over all label sets: one a replica."""
    values = [line.rsplit(" ", 1)[-1] for line in lines if line.split("{")[0].split(" ")[0] == name]
    try:
        return int(sum(float(value) for value in values)) if values else None
    except (ValueError, OverflowError):
        return None


def _granted(answer: Dict[str, Any]) -> bool:
    """vLLM refuses with status 200 and {"success": false} while blocks are held."""
    if answer.get("status") != 200:
        return False
    try:
        told = json.loads(answer.get("body") or "null")
    except ValueError:
        return True  # SGLang answers in words
    return not isinstance(told, dict) or told.get("success") is not False


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
