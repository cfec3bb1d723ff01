"""What a person asks to change for a rerun: words of an address or a form to typed values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from runs.actions.launch import Refused
from runs.actions.rerun import WORKLOAD_KEYS
from runs.drivers.checks import POLICIES
from runs.drivers.registry import PROMPT_SETS

CHOICES = {"prompt_set": PROMPT_SETS, "cache_policy": POLICIES}
FLAG = re.compile(r"--[a-z0-9][a-z0-9-]{0,80}")
WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
ON_OFF = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
MOST = 20  # changes in one rerun; beyond that it is another campaign


def parse_overrides(words: Iterable[str]) -> dict[str, Any]:
    """ "--speculative-num-steps=3", "temperature=0.7", "--flag" (on), "--flag=" (taken away).

    Raises :class:`Refused` with the key in ``field``.
    """
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.strip().partition("=")
        key, text = key.strip(), text.strip()
        if not key and not text:
            continue
        if len(found) >= MOST:
            raise Refused(f"More than {MOST} changes at once: open a campaign instead.", key)
        found[key] = _value(key, text, bare=not equals)
    return found


def _value(key: str, text: str, *, bare: bool) -> Any:
    if key in WORKLOAD_KEYS:
        return _setting(key, text)
    if not FLAG.fullmatch(key):
        known = ", ".join(sorted(WORKLOAD_KEYS))
        raise Refused(
            f"Name a launch flag, such as --speculative-num-steps, or one of {known}.", key
        )
    if bare:
        return True
    return _plain(text) if text else None


def _plain(text: str) -> Any:
    """A number where writing it gives the very text again; all else is passed on as typed.

    "007", "1234e5" (a revision) and "nan" are no numbers to a flag that nobody here knows.
    """
    if WHOLE.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text) and str(float(text)) == text:
        return float(text)
    return True if text.lower() == "true" else text


def _setting(key: str, text: str) -> Any:
    if not text:
        raise Refused(f"Give {key.replace('_', ' ')} a value.", key)
    if key == "ignore_eos":
        if text.lower() not in ON_OFF:
            raise Refused("ignore_eos is true or false.", key)
        return ON_OFF[text.lower()]
    if key in CHOICES:
        if text not in CHOICES[key]:
            raise Refused(f"{key.replace('_', ' ')} is one of {', '.join(CHOICES[key])}.", key)
        return text
    return _number(key, text)


def _number(key: str, text: str) -> float | int:
    bounds = {"temperature": (0, 2), "max_tokens": (1, 1_000_000), "seed": (0, 2**63 - 1)}
    low, high = bounds[key]
    try:
        value = float(text) if key == "temperature" else int(text)
    except ValueError:
        raise Refused(f"{key.replace('_', ' ')} is a number, not {text!r}.", key) from None
    if not low <= value <= high:
        raise Refused(f"{key.replace('_', ' ')} lies between {low} and {high}.", key)
    return value


def as_words(overrides: dict[str, Any]) -> list[str]:
    """The same in the form of an address, so that a proposal has one."""
    return [_word(key, value) for key, value in overrides.items()]


def _word(key: str, value: Any) -> str:
    if value is True and key.startswith("--"):
        return key
    if value is None:
        return f"{key}="
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"
