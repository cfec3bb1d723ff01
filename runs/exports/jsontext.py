"""JSON: the description itself with its address. docs/exports.md tells every field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(told: Mapping[str, Any], link: str) -> str:
    whole = {**told, "link": link or None}
    return json.dumps(_finite(whole), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON knows no infinity: what is no number is not known."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
