"""Numbers as tools print them, and their units. What is no finite number is None, never zero."""

import re
from collections.abc import Iterable

from runs.engines.base import JSON

# One number: digits with or without thousands commas, an optional fraction and exponent.
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,40})(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,4})?"
)
_MEASURE = re.compile(
    rf"(?P<n>{_NUMBER.pattern})\s?(?P<k>[kK](?![a-zA-Z]))?\s?"
    r"(?P<u>ms|us|µs|μs|secs?|seconds|s|毫秒|秒|min|%|tok(?:en)?s?\s?/\s?s(?:ec)?|t/s|tps|"
    r"req(?:uest)?s?\s?/\s?s(?:ec)?|rps|qps)?(?![\w.,/])"
)
# '50,5' and '1.234,5' have a decimal comma, '50.5' and '1,234.5' a point; '1,234' may be either.
_COMMA = re.compile(
    r"[-+]?(?:[0-9]{1,40},(?:[0-9]{1,2}|[0-9]{4,40})|[0-9]{1,3}(?:\.[0-9]{3}){1,12},[0-9]{1,40})"
    r"(?![0-9.,])"
)
_POINT = re.compile(
    r"[-+]?(?:[0-9]{1,40}\.(?:[0-9]{1,2}|[0-9]{4,40})|[0-9]{1,3}(?:,[0-9]{3}){1,12}\.[0-9]{1,40})"
    r"(?![0-9.,])"
)
_EITHER = re.compile(
    r"\s*[*_`]*[-+]?(?:[0-9]{1,3}(?:\.[0-9]{3}){1,12}|[0-9]{1,40})(?:,[0-9]{1,40})?(?![0-9.,])"
)
_SWAPPED = str.maketrans(",.", ".,")
# '800-900', '50 / 90', '800 → 900': two numbers, and neither is the cell's.
_ANOTHER = re.compile(r"[*_`]*\s*(?:[-–—~/→]|->|=>|to\b|至|到)\s*[*_`]*[0-9]")
_COUNT = re.compile(r"[0-9]{1,12}(?:\.0{1,12})?")
MAX_COUNT = 10**12
# Nanoseconds since 1970 are 2e18; with more digits sums overflow and nothing can be rounded.
MAX_NUMBER = 1e21

# Factor to the base unit.
TO_BASE: dict[str, float] = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "seconds": 1.0,
    "秒": 1.0,
    "ms": 1e-3,
    "毫秒": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "mins": 60.0,
    "minutes": 60.0,
    "分钟": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
    "%": 1e-2,
    "percent": 1e-2,
    "req/min": 1 / 60,
    "requests/min": 1 / 60,
}


def number(text: str) -> float | None:
    """Read a whole text as one number: '1,902.44' is 1902.44, 'N/A', 'inf' and '' are None."""
    text = text.strip().replace("_", "x")
    if _NUMBER.fullmatch(text) is None:
        return None
    return finite(float(text.replace(",", "")))


def leading_number(text: str) -> float | None:
    """Read '96.8 (1.58x)' or '**124.0**' as its first number; None when it begins otherwise."""
    text = text.strip().strip("*_` ")
    match = _NUMBER.match(text)
    if match is None or re.match(r"[\w.,]", text[match.end() :]):
        return None
    return finite(float(match[0].replace(",", "")))


def measure(text: str) -> tuple[float, str] | None:
    """Read '50 ms', '1.2k tok/s' or '95%' as a number and its unit; '' where none is told."""
    text = text.strip().strip("*_` ")
    match = _MEASURE.match(text)
    if match is None or _ANOTHER.match(text, match.end()):
        return None
    value = finite(float(match["n"].replace(",", "")))
    if value is None:
        return None
    value = float(f"{value * 1000:.12g}") if match["k"] else value
    return value, re.sub(r"\s", "", match["u"] or "").lower()


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether a table has commas before the fractions: some number shows it, and none a point."""
    shown = [cell.strip().strip("*_` ") for cell in cells]
    return any(map(_COMMA.match, shown)) and not any(map(_POINT.match, shown))


def with_points(cell: str) -> str:
    """Write '1.234,5' as '1,234.5'."""
    match = _EITHER.match(cell)
    return cell if match is None else match[0].translate(_SWAPPED) + cell[match.end() :]


def finite(value: object) -> float | None:
    """Give a JSON number as float; None for NaN, what no tool measures, and everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        real = float(value)
    except OverflowError:
        return None
    return real if abs(real) <= MAX_NUMBER else None


def json_number(value: JSON) -> float | None:
    """Give a number that may be written as text, as some tools do ('16.0')."""
    return number(value) if isinstance(value, str) else finite(value)


def count(value: JSON) -> int | None:
    """Give a whole number of things, at least one: 8, 8.0, '8'. Everything else is None."""
    if isinstance(value, str):
        text = value.strip()
        value = float(text) if _COUNT.fullmatch(text) else None
    real = finite(value)
    if real is None or real != int(real) or not 1 <= real <= MAX_COUNT:
        return None
    return int(real)


def to_base(value: float | None, unit: str) -> float | None:
    """Convert to the base unit; rounding at 12 digits hides only the noise of the conversion."""
    factor = TO_BASE.get(unit, 1.0)
    if value is None or factor == 1.0:
        return value
    return finite(float(f"{value * factor:.12g}"))
