"""Numbers for people: signs, percents, factors. Only what is shown goes through here."""

from decimal import ROUND_HALF_UP, Decimal

MINUS = "\u2212"
ABSENT = "–"
# Below this, a whole percent would hide the difference.
_FINE_PERCENT = 2


def percent_change(change: float | None) -> str:
    """0.512 gives '+51 %', −0.2324 '−23 %', 0.016 '+1.6 %'; None gives a dash."""
    if change is None:
        return ABSENT
    percent = change * 100
    digits = 1 if abs(percent) < _FINE_PERCENT else 0
    text = rounded(abs(percent), digits)
    if not text.strip("0."):
        return "0 %"
    return f"{'+' if percent > 0 else MINUS}{text} %"


def percent_range(low: float, high: float) -> str:
    """(0.10, 0.50) gives '+10 to +50 %'; equal ends give one."""
    left, right = percent_change(low), percent_change(high)
    return left if left == right else f"{left.removesuffix(' %')} to {right}"


def share(fraction: float | None) -> str:
    """0.4 gives '40 %', 0.351 '35 %', 0.004 '0.4 %'."""
    if fraction is None:
        return ABSENT
    percent = fraction * 100
    fine = 0 < abs(percent) < _FINE_PERCENT
    return f"{signed(rounded(abs(percent), 1 if fine else 0), percent)} %"


def times(factor: float | None, digits: int = 2) -> str:
    """2.533 gives '×2.53'."""
    return ABSENT if factor is None else f"×{rounded(factor, digits)}"


def number(value: float | None, digits: int | None = None) -> str:
    """Give three significant figures or all of a larger whole number: '71.4', '1,844', '3.52'."""
    if value is None:
        return ABSENT
    size = abs(value)
    if digits is None:
        digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2
    return signed(f"{Decimal(rounded(size, digits)):,}", value)


def seconds(value: float | None) -> str:
    """0.0123 gives '12.3 ms', 2.5 '2.50 s', 125 '2 min 5 s'."""
    if value is None:
        return ABSENT
    if abs(value) < 1:
        return f"{number(value * 1000)} ms"
    if abs(value) < 60:
        return f"{number(value)} s"
    whole = int(value + 0.5)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(count: float) -> str:
    """Bytes: 21582086144 gives '20.1 GiB', 3145728 '3 MiB'."""
    if abs(count) >= 2**30:
        return f"{number(count / 2**30, 1)} GiB"
    return f"{number(count / 2**20, 0)} MiB"


def signed(text: str, value: float) -> str:
    """Put the true minus sign before the text of a negative value."""
    return f"{MINUS}{text}" if value < 0 and text.strip("0.,") else text


def rounded(value: float, digits: int) -> str:
    """Round half away from zero, as people do: 0.125 gives '0.13'."""
    step = Decimal(1).scaleb(-digits)
    return str(Decimal(repr(value)).quantize(step, rounding=ROUND_HALF_UP))
