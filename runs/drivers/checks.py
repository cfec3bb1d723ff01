"""Checks of a workload's fields: each wrong one is refused by name, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Beyond these a typing mistake is likelier than a wish.
MAX_LEVELS = 64
MAX_CONCURRENCY = 4096
MAX_REQUESTS = 1_000_000
MAX_TOKENS = 1_000_000
POLICIES = ("keep", "flush", "new-seed")


class WorkloadError(ValueError):
    """A field of a workload that cannot be right: which one, and why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def levels(workload: Mapping[str, object]) -> list[int]:
    value = workload.get("levels")
    if not isinstance(value, list | tuple) or not value:
        raise WorkloadError("levels", "name at least one concurrency, such as 1, 4, 16")
    if len(value) > MAX_LEVELS:
        raise WorkloadError("levels", f"at most {MAX_LEVELS} levels in one run")
    found = [as_whole("levels", each, 1, MAX_CONCURRENCY) for each in value]
    if len(set(found)) != len(found):
        raise WorkloadError("levels", "a concurrency stands there twice")
    return found


def listed_requests(workload: Mapping[str, object], count: int) -> list[int] | None:
    """One number a level where the workload lists them."""
    listed = workload.get("requests")
    if listed is None:
        return None
    if not isinstance(listed, list | tuple) or len(listed) != count:
        raise WorkloadError("requests", f"name one number for each of the {count} levels")
    return [as_whole("requests", each, 1, MAX_REQUESTS) for each in listed]


def requests(workload: Mapping[str, object], count: int) -> list[int]:
    """One number for each level, listed or not."""
    listed = listed_requests(workload, count)
    return listed or [whole(workload, "requests_per_level", 1, MAX_REQUESTS, 32)] * count


def temperature(workload: Mapping[str, object]) -> float | None:
    value = workload.get("temperature")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise WorkloadError("temperature", "must be a number from 0 to 2, or left out")
    return float(value)


def policy(workload: Mapping[str, object]) -> str:
    """What happens to the cache before a level; a workload that does not say keeps it."""
    return choice({**workload, "cache_policy": workload.get("cache_policy") or "keep"}, *_POLICY)


def real(
    workload: Mapping[str, object], field: str, low: float, high: float, default: float | None
) -> float | None:
    value = workload.get(field, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise WorkloadError(field, f"must be a number from {low:g} to {high:g}")
    return float(value)


def whole(workload: Mapping[str, object], field: str, low: int, high: int, default: int) -> int:
    return as_whole(field, workload.get(field, default), low, high)


def as_whole(field: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WorkloadError(field, f"must be a whole number, not {value!r}")
    if not low <= value <= high:
        raise WorkloadError(field, f"must be from {low} to {high}, not {value}")
    return value


def truth(workload: Mapping[str, object], field: str, default: bool) -> bool:
    value = workload.get(field, default)
    if not isinstance(value, bool):
        raise WorkloadError(field, "must be yes or no")
    return value


def choice(workload: Mapping[str, object], field: str, choices: Sequence[str], default: str) -> str:
    value = workload.get(field, default)
    if not isinstance(value, str) or value not in choices:
        raise WorkloadError(field, f"must be one of {', '.join(choices)}, not {value!r}")
    return value


def text(workload: Mapping[str, object], field: str, most: int = 2000) -> str:
    """One line of text, empty for none."""
    value = workload.get(field) or ""
    if not isinstance(value, str) or len(value) > most or any(c in value for c in "\0\n\r"):
        raise WorkloadError(field, f"must be one line of at most {most} characters")
    return value.strip()


_POLICY = ("cache_policy", POLICIES, "keep")
