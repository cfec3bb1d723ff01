"""Our own probe driver: a workload to its specification, and its output to records."""

from __future__ import annotations

import json
from collections.abc import Mapping

from runs.drivers import checks
from runs.drivers.checks import MAX_CONCURRENCY, MAX_LEVELS, MAX_REQUESTS, WorkloadError
from runs.drivers.driver import Job, Named, Setting
from runs.drivers.load_records import LevelEnd, LoadReader
from runs.drivers.named import common
from runs.drivers.prompts import FILE, NAME, read_prompts
from runs.engines.base import JSON
from runs.engines.cache import USUAL, CacheReset

# The node kit replaces the words in braces.
ARGV = ("{python}", "{kit}", "load", "{job_dir}/load.json")
SPEC_FILE = "load.json"
OUTPUT = "load.jsonl"
PROMPT_SETS = ("chat", "code", "prose", "synthetic", FILE)
APIS = ("chat", "completions")


class Probe:
    """A closed loop of streamed requests, in the node kit: it needs nothing on the node."""

    name = "probe"
    title = "Throughline's probe"
    prompt_sets = PROMPT_SETS
    settings: tuple[Setting, ...] = ()

    def start(
        self,
        workload: Mapping[str, object],
        *,
        base_url: str,
        model: str,
        model_path: str,
        reset: CacheReset = USUAL,
    ) -> Job:
        built = spec(workload, base_url=base_url, model=model, reset=reset)
        files = {SPEC_FILE: json.dumps(built)}
        if built["prompts_file"]:
            files[NAME] = read_prompts(str(workload.get("prompts") or "")).as_jsonl()
        return Job(argv=ARGV, files=files, shown=(("python3", "KIT", "load", SPEC_FILE),))

    def reader(self, offset: int, lines: int) -> LoadReader:
        return LoadReader(offset=offset, line=lines + 1)

    def defaults_named(self, workload: Mapping[str, object]) -> list[Named]:
        return common(workload)

    def summary(self, end: LevelEnd, told: bytes) -> dict[str, JSON]:
        return end.summary


def spec(
    workload: Mapping[str, object], *, base_url: str, model: str, reset: CacheReset = USUAL
) -> dict[str, JSON]:
    """Give the content of load.json. Raises WorkloadError.

    `temperature` None is not sent; `timeout_s` is in seconds per request; `input_tokens` are
    approximate words of synthetic prompts. Fields left out of the workload get their default here.
    """
    levels = checks.levels(workload)
    prompt_set = checks.choice(workload, "prompt_set", PROMPT_SETS, "chat")
    built: dict[str, JSON] = {
        "base_url": base_url,
        "model": model,
        "api": checks.choice(workload, "api", APIS, "chat"),
        "levels": list(levels),
        "warmup_requests": checks.whole(workload, "warmup_requests", 0, MAX_REQUESTS, 1),
        "temperature": checks.temperature(workload),
        "ignore_eos": checks.truth(workload, "ignore_eos", False),
        "seed": checks.whole(workload, "seed", 0, 2**63 - 1, 1),
        "max_tokens": checks.whole(workload, "max_tokens", 1, 1_000_000, 256),
        "prompt_set": "chat" if prompt_set == FILE else prompt_set,
        "input_tokens": _input_tokens(workload, prompt_set),
        "prompts_file": NAME if _own(workload, prompt_set) else None,
        "timeout_s": _timeout(workload.get("timeout_s", 600)),
        "unique_prefix": checks.truth(workload, "unique_prefix", True),
    }
    policy = checks.policy(workload)
    if policy != "keep":
        built["cache"] = reset.told(policy)
    return built | _requests(workload, len(levels))


def _own(workload: Mapping[str, object], prompt_set: str) -> bool:
    """Whether the prompts are the workload's own; they are checked here."""
    if prompt_set == FILE:
        read_prompts(str(workload.get("prompts") or ""))
    return prompt_set == FILE


def _requests(workload: Mapping[str, object], count: int) -> dict[str, JSON]:
    listed = checks.listed_requests(workload, count)
    if listed is not None:
        return {"requests": list(listed)}
    each = checks.whole(workload, "requests_per_level", 1, MAX_REQUESTS, 32)
    return {"requests_per_level": each}


def _input_tokens(workload: Mapping[str, object], prompt_set: str) -> JSON:
    if prompt_set != "synthetic":
        if workload.get("input_tokens") is not None:
            raise WorkloadError("input_tokens", "only synthetic prompts have a chosen length")
        return None
    return checks.whole(workload, "input_tokens", 1, 1_000_000, 512)


def _timeout(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 86400:
        raise WorkloadError("timeout_s", "must be from 1 to 86400 seconds")
    return float(value)


__all__ = [
    "ARGV",
    "MAX_CONCURRENCY",
    "MAX_LEVELS",
    "MAX_REQUESTS",
    "OUTPUT",
    "SPEC_FILE",
    "LoadReader",
    "Probe",
    "WorkloadError",
    "spec",
]
