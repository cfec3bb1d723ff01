"""The form in which any script may tell a level: its last line, a JSON object with "throughline".

The keys are described in docs/command-driver.md. Base units: seconds, tokens, tokens per second.
"""

from __future__ import annotations

from runs.drivers.fields import Fields, NotJson, Unreadable, parse
from runs.engines.base import JSON

VERSION = 1
LINE_LIMIT = 256 * 1024
_COUNTS = ("requests", "completed", "failed", "output_tokens", "prompt_tokens", "cached_tokens")
_REALS = ("duration_s", "output_tps", "accept_len")
_TIMES = ("ttft", "tpot", "itl", "e2e", "user_tps")
_STATS = ("mean", "p50", "p90", "p95", "p99", "min", "max")
_FORMULA = "as the command tells it"


def read_last_line(data: bytes) -> dict[str, JSON] | None:
    """Give the level's figures; None when the last line is no such object.

    An object that is one and has a wrong value gives `problem`, which names the key.
    """
    lines = data[-LINE_LIMIT:].rstrip().rsplit(b"\n", 1)
    last = lines[-1].strip() if lines else b""
    if not last.startswith(b"{"):
        return None
    try:
        found = parse(last)
    except NotJson:
        return None
    if not isinstance(found, dict) or found.get("throughline") != VERSION:
        return None
    try:
        return _summary(Fields(found))
    except Unreadable as wrong:
        return {"output_tps": None, "problem": f"The command's last line cannot be read: {wrong}."}


def _summary(given: Fields) -> dict[str, JSON]:
    found: dict[str, JSON] = {name: _count(given, name) for name in _COUNTS}
    found |= {name: _positive(given, name) for name in _REALS}
    for name in _TIMES:
        found[name] = _stats(given, name)
    found |= {name: given.maybe_real(name) for name in ("started", "ended")}
    if found["failed"] is None and found["requests"] is not None and found["completed"] is not None:
        found["failed"] = max(0, given.whole("requests") - given.whole("completed"))
    tokens, seconds = given.maybe_whole("output_tokens"), given.maybe_real("duration_s")
    if found["output_tps"] is None and tokens is not None and seconds:
        found["output_tps"] = tokens / seconds
    if found["output_tps"] is None:
        raise Unreadable("it needs 'output_tps', or 'output_tokens' and 'duration_s'")
    found["formulas"] = dict.fromkeys((*_TIMES, "output_tps"), _FORMULA)
    return found


def _count(given: Fields, name: str) -> int | None:
    value = given.maybe_whole(name)
    if value is not None and value < 0:
        raise Unreadable(f"'{name}' is below zero")
    return value


def _positive(given: Fields, name: str) -> float | None:
    value = given.maybe_real(name)
    if value is not None and value < 0:
        raise Unreadable(f"'{name}' is below zero")
    return value


def _stats(given: Fields, name: str) -> dict[str, JSON]:
    inner = given.maybe_mapping(name)
    if inner is None:
        return {}
    told = Fields(inner)
    values = {stat: _positive(told, stat) for stat in _STATS}
    return {stat: value for stat, value in values.items() if value is not None}
