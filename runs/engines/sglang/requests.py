"""Structured events of SGLang's own request log (--log-requests-format json).

They are read where a person pastes a log. A live run leaves them in the raw log: there is one for
each request.
"""

import json
import math

from runs.engines.base import JSON, Event
from runs.engines.sglang.lines import stamp

HINTS = ('"event": "request.finished"', '"event": "scheduler.status"')
_META = (
    *("prompt_tokens", "completion_tokens", "cached_tokens", "e2e_latency"),
    *("spec_accept_rate", "spec_accept_length", "spec_verify_ct"),
)


def _json_object(text: str) -> dict[str, JSON]:
    """Read the object that a line ends in; {} of what is none."""
    try:
        told = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _request_finished(text: str) -> dict[str, JSON] | None:
    """Take the counts of a logged request, and nothing of what was asked or answered."""
    told = _json_object(text)
    out = told.get("out")
    meta = out.get("meta_info") if isinstance(out, dict) else None
    if not isinstance(meta, dict):
        return None
    found: dict[str, JSON] = {}
    for name in _META:
        value = meta.get(name)
        if isinstance(value, int | float) and math.isfinite(value):
            found[name] = value
    return found


def _scheduler_status(text: str) -> dict[str, JSON] | None:
    told = _json_object(text)
    lists = {"running": told.get("running_rids"), "queued": told.get("queued_rids")}
    return {name: len(each) for name, each in lists.items() if isinstance(each, list)} or None


def read_request_event(text: str, offset: int, line: int) -> Event | None:
    """Read one such line. What users asked and were answered is not kept."""
    for hint, kind, read in zip(HINTS, _KINDS, _READERS, strict=True):
        if hint in text:
            data = read(text)
            if data is not None:
                shown = text[: text.index("{")]
                return Event(kind, stamp(shown)[0], shown, data, offset, line)
    return None


_KINDS = ("request_finished", "scheduler_status")
_READERS = (_request_finished, _scheduler_status)
