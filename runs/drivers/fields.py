"""Typed access to the fields of one JSON object that another program wrote."""

import json
import math
from collections.abc import Mapping

from runs.engines.base import JSON


class NotJson(ValueError):
    """The bytes are no JSON."""


class Unreadable(ValueError):
    """A field that is missing or has the wrong type."""


class Fields:
    """Typed access to one object."""

    def __init__(self, found: Mapping[str, object]) -> None:
        self._found = found

    def whole(self, name: str) -> int:
        value = self.maybe_whole(name)
        if value is None:
            raise Unreadable(f"'{name}' is missing")
        return value

    def maybe_whole(self, name: str) -> int | None:
        value = self._found.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise Unreadable(f"'{name}' is no whole number")

    def real(self, name: str) -> float:
        value = self.maybe_real(name)
        if value is None:
            raise Unreadable(f"'{name}' is missing")
        return value

    def maybe_real(self, name: str) -> float | None:
        value = self._found.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unreadable(f"'{name}' is no number")
        return float(value)

    def mapping(self, name: str) -> dict[str, JSON]:
        value = self._found.get(name)
        if not isinstance(value, dict):
            raise Unreadable(f"'{name}' is no object")
        return value

    def maybe_mapping(self, name: str) -> dict[str, JSON] | None:
        return None if self._found.get(name) is None else self.mapping(name)

    def mappings(self, name: str) -> tuple[dict[str, JSON], ...]:
        value = self._found.get(name)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise Unreadable(f"'{name}' is no list of objects")
        return tuple(value)

    def maybe_list(self, name: str) -> list[object] | None:
        value = self._found.get(name)
        if value is None or isinstance(value, list):
            return value
        raise Unreadable(f"'{name}' is no list")

    def maybe_text(self, name: str) -> str | None:
        value = self._found.get(name)
        return None if value is None else str(value)

    def wholes(self, name: str) -> tuple[int, ...]:
        value = self._found.get(name)
        if not isinstance(value, list) or not all(isinstance(each, int) for each in value):
            raise Unreadable(f"'{name}' is no list of numbers")
        return tuple(value)

    def is_true(self, name: str) -> bool:
        return self._found.get(name) is True


def parse(raw: bytes) -> object:
    """Parse JSON; what is no finite number becomes None. Raises NotJson."""
    try:
        return json.loads(raw, parse_constant=_unknown, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        raise NotJson(str(problem)) from problem


def _unknown(_: str) -> None:
    """Read NaN and Infinity as unknown: no database holds them in JSON."""


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
