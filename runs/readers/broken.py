"""Why a text that begins like JSON is none: for people who wonder that nothing was found in it."""

from __future__ import annotations

import json
import re

from runs.engines.base import Damaged

MOST = 16 * 2**20  # bytes; parsing takes several times as much memory
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,64}(?:\{|\[\s{0,64}[{\[])")


def begins_like_json(data: bytes) -> bool:
    return _BEGINS.match(data[:256]) is not None


def json_problem(data: bytes) -> Damaged | None:
    """The place and the reason; ``None`` for whole JSON, and for what never looked like it."""
    if not begins_like_json(data) or len(data) > MOST:
        return None
    text = data.decode("utf-8-sig", "replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as problem:
        if problem.pos and _is_lines(text[: problem.pos]):
            return None
        offset = len(text[: problem.pos].encode())
        return Damaged(f"no whole JSON: {problem.msg.lower()}", "", offset, problem.lineno)
    except RecursionError:
        return Damaged("JSON that is nested too deeply to be read", "", 0, 1)
    except ValueError:
        return Damaged("JSON with a number of too many digits to be read", "", 0, 1)
    return None


def _is_lines(before: str) -> bool:
    """Whether a whole document ends where the problem is: one JSON object a line is no fault."""
    try:
        json.loads(before)
    except ValueError:
        return False
    return True
