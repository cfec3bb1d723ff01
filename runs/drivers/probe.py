"""Our own probe driver: a workload to its specification, and its output to records."""

from collections.abc import Mapping

from runs.drivers.load_records import LoadReader
from runs.engines.base import JSON

# The node kit replaces the words in braces.
ARGV = ("{python}", "{kit}", "load", "{job_dir}/load.json")
SPEC_FILE = "load.json"
OUTPUT = "load.jsonl"
PROMPT_SETS = ("chat", "code", "prose", "synthetic")
APIS = ("chat", "completions")
# Beyond these a typing mistake is likelier than a wish.
MAX_LEVELS = 64
MAX_CONCURRENCY = 4096
MAX_REQUESTS = 1_000_000


class WorkloadError(ValueError):
    """A field of a workload that cannot be right: which one, and why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def spec(workload: Mapping[str, object], *, base_url: str, model: str) -> dict[str, JSON]:
    """Give the content of load.json. Raises WorkloadError.

    `temperature` None is not sent; `timeout_s` is in seconds per request; `input_tokens` are
    approximate words of synthetic prompts. Fields left out of the workload get their default here.
    """
    levels = _levels(workload.get("levels"))
    prompt_set = _choice(workload, "prompt_set", PROMPT_SETS, "chat")
    built: dict[str, JSON] = {
        "base_url": base_url,
        "model": model,
        "api": _choice(workload, "api", APIS, "chat"),
        "levels": list(levels),
        "warmup_requests": _whole(workload, "warmup_requests", 0, MAX_REQUESTS, 1),
        "temperature": _temperature(workload.get("temperature")),
        "ignore_eos": _truth(workload, "ignore_eos", False),
        "seed": _whole(workload, "seed", 0, 2**63 - 1, 1),
        "max_tokens": _whole(workload, "max_tokens", 1, 1_000_000, 256),
        "prompt_set": prompt_set,
        "input_tokens": _input_tokens(workload, prompt_set),
        "prompts_file": None,
        "timeout_s": _timeout(workload.get("timeout_s", 600)),
        "unique_prefix": _truth(workload, "unique_prefix", True),
    }
    return built | _requests(workload, len(levels))


def _levels(value: object) -> list[int]:
    if not isinstance(value, list | tuple) or not value:
        raise WorkloadError("levels", "name at least one concurrency, such as 1, 4, 16")
    if len(value) > MAX_LEVELS:
        raise WorkloadError("levels", f"at most {MAX_LEVELS} levels in one run")
    levels = [_int("levels", each, 1, MAX_CONCURRENCY) for each in value]
    if len(set(levels)) != len(levels):
        raise WorkloadError("levels", "a concurrency stands there twice")
    return levels


def _requests(workload: Mapping[str, object], count: int) -> dict[str, JSON]:
    listed = workload.get("requests")
    if listed is None:
        return {"requests_per_level": _whole(workload, "requests_per_level", 1, MAX_REQUESTS, 32)}
    if not isinstance(listed, list | tuple) or len(listed) != count:
        raise WorkloadError("requests", f"name one number for each of the {count} levels")
    return {"requests": [_int("requests", each, 1, MAX_REQUESTS) for each in listed]}


def _input_tokens(workload: Mapping[str, object], prompt_set: str) -> JSON:
    if prompt_set != "synthetic":
        if workload.get("input_tokens") is not None:
            raise WorkloadError("input_tokens", "only synthetic prompts have a chosen length")
        return None
    return _whole(workload, "input_tokens", 1, 1_000_000, 512)


def _temperature(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise WorkloadError("temperature", "must be a number from 0 to 2, or left out")
    return float(value)


def _timeout(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 86400:
        raise WorkloadError("timeout_s", "must be from 1 to 86400 seconds")
    return float(value)


def _whole(workload: Mapping[str, object], field: str, low: int, high: int, default: int) -> int:
    return _int(field, workload.get(field, default), low, high)


def _int(field: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WorkloadError(field, f"must be a whole number, not {value!r}")
    if not low <= value <= high:
        raise WorkloadError(field, f"must be from {low} to {high}, not {value}")
    return value


def _truth(workload: Mapping[str, object], field: str, default: bool) -> bool:
    value = workload.get(field, default)
    if not isinstance(value, bool):
        raise WorkloadError(field, "must be yes or no")
    return value


def _choice(
    workload: Mapping[str, object], field: str, choices: tuple[str, ...], default: str
) -> str:
    value = workload.get(field, default)
    if not isinstance(value, str) or value not in choices:
        raise WorkloadError(field, f"must be one of {', '.join(choices)}, not {value!r}")
    return value


__all__ = ["ARGV", "OUTPUT", "SPEC_FILE", "LoadReader", "WorkloadError", "spec"]
