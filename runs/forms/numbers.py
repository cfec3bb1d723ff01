"""Fields that keep what was typed: numbers and lists of numbers as text inputs."""

from __future__ import annotations

import re
from typing import Any

from django import forms

_SEPARATORS = re.compile(r"[\s,;]+")


def _text_input(mode: str, **attrs: Any) -> forms.TextInput:
    # type=number would hand over an empty text for what it does not understand
    return forms.TextInput(attrs={"inputmode": mode, "autocomplete": "off", **attrs})


def _bounds(field: forms.IntegerField | forms.FloatField) -> dict[str, str]:
    low, high = field.min_value, field.max_value
    words = f"This is from {low:,} to {high:,}." if low is not None and high is not None else ""
    return dict.fromkeys(("min_value", "max_value"), words) if words else {}


class WholeField(forms.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", _text_input("numeric"))
        super().__init__(**kwargs)
        self.error_messages |= {"invalid": "This is a whole number, such as 4.", **_bounds(self)}


class DecimalPointField(forms.FloatField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", _text_input("decimal"))
        super().__init__(**kwargs)
        self.error_messages |= {"invalid": "This is a number, such as 0.9.", **_bounds(self)}


class WholesField(forms.CharField):
    """Whole numbers from ``low`` to ``high``, separated by commas or blanks; none twice."""

    def __init__(self, *, low: int, high: int, many: int, unique: bool, **kwargs: Any) -> None:
        self.low, self.high, self.many, self.unique = low, high, many, unique
        kwargs.setdefault("widget", _text_input("numeric"))
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> list[int]:  # type: ignore[override]
        words = [word for word in _SEPARATORS.split(super().to_python(value) or "") if word]
        numbers = [self._number(word) for word in words]
        if len(numbers) > self.many:
            raise forms.ValidationError(f"At most {self.many}.")
        if self.unique and len(set(numbers)) != len(numbers):
            raise forms.ValidationError("A number stands there twice.")
        return numbers

    def _number(self, word: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", word):
            raise forms.ValidationError(f"“{word[:20]}” is not a whole number.")
        if not self.low <= int(word) <= self.high:
            raise forms.ValidationError(f"{word} is not from {self.low:,} to {self.high:,}.")
        return int(word)
