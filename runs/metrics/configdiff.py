"""What else differs between two arms, beside what one is looking at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from runs.engines.sglang.launch import DRAFT_TOKENS, STEPS, TOPK, validate


@dataclass(frozen=True, slots=True)
class Config:
    """One arm: launch flags, what the server told of its effective limits, and its surroundings.

    Only keys that stand somewhere are there; what is not told is unknown and never a default.
    """

    flags: Mapping[str, object]
    effective: Mapping[str, object]
    environment: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Change:
    """One key that differs. `intended`: a flag somebody set. `incidental`: it came with it.

    `environment`: host, engine version and the like. None is a value that is not told.
    `follows_from` names the flag that makes this one what it is.
    """

    key: str
    a: object
    b: object
    group: Literal["intended", "incidental", "environment"]
    follows_from: str | None


def config_diff(a: Config, b: Config) -> list[Change]:
    """List what differs: flags first, then effective values, then surroundings.

    An effective value that only one side tells is not called a difference.
    """
    left, right = validate(a.flags), validate(b.flags)
    changed = [key for key in {**left, **right} if left.get(key) != right.get(key)]
    changes = [
        Change(key, left.get(key), right.get(key), "intended", _source(key, changed, left, right))
        for key in changed
    ]
    changes += _told(a.effective, b.effective, "incidental")
    return changes + _told(a.environment, b.environment, "environment")


def _source(
    key: str, changed: list[str], left: Mapping[str, object], right: Mapping[str, object]
) -> str | None:
    chain = all(side.get(TOPK) == 1 for side in (left, right))
    return STEPS if key == DRAFT_TOKENS and STEPS in changed and chain else None


def _told(
    a: Mapping[str, object],
    b: Mapping[str, object],
    group: Literal["incidental", "environment"],
) -> list[Change]:
    return [Change(key, a[key], b[key], group, None) for key in a if key in b and a[key] != b[key]]
