"""Printed values to numbers. Only ASCII digits, bounded in length; anything else is refused."""

import math
import re

_INT = re.compile(r"-?[0-9]{1,18}")
_FLOAT = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf)%?", re.IGNORECASE)
_TWO_DECIMALS = re.compile(r"-?[0-9]{1,18}\.[0-9]{2}")
_INTERVAL = re.compile(r"([0-9.]{1,20}) \[([0-9.]{1,20}), ([0-9.]{1,20})\]")


class UnreadableValue(ValueError):
    """The text after a known label is not a value of its form."""


def read_value(text: str, form: str) -> int | float | None:
    """Read 'int', 'float' or 'percent'; nan and inf are None.

    Raises UnreadableValue.
    """
    if _NO_NUMBER.fullmatch(text):
        return None
    if form == "int":
        return _whole(text)
    if form == "float":
        return _real(text)
    if not text.endswith("%"):
        raise UnreadableValue(text)
    return round(_real(text[:-1]) / 100, 10)


def read_interval(text: str) -> tuple[float, float, float]:
    """Read 'estimate [low, high]'. Raises UnreadableValue."""
    match = _INTERVAL.fullmatch(text)
    if match is None:
        raise UnreadableValue(text)
    middle, low, high = (_real(part) for part in match.groups())
    return middle, low, high


def read_unknown(text: str) -> int | float | bool | str | None:
    """Read the value of a label nobody knows: a number or truth value if it is one, else text."""
    if text in ("True", "False"):
        return text == "True"
    if _NO_NUMBER.fullmatch(text):
        return None
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return _finite(text)
    return text


def delimits_itself(text: str) -> bool:
    """Tell whether the value shows where it ends: the engine prints floats with two decimals."""
    body = text.removesuffix("%")
    return body != text or text in ("True", "False") or bool(_TWO_DECIMALS.fullmatch(text))


def _whole(text: str) -> int:
    if not _INT.fullmatch(text):
        raise UnreadableValue(text)
    return int(text)


def _real(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise UnreadableValue(text)
    value = _finite(text)
    if value is None:
        raise UnreadableValue(text)
    return value


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
