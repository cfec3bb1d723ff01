"""What all drivers share that run somebody else's tool under the node kit's `bench`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runs.drivers import checks
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job, Setting
from runs.drivers.load_records import LevelStart, LoadReader, Output
from runs.engines.base import JSON
from runs.engines.cache import CacheReset

# The node kit replaces the words in braces. -I: the environment is the tool's, not the kit's.
ARGV = ("{python}", "-I", "{kit}", "bench", "{job_dir}/bench.json")
SPEC_FILE = "bench.json"
FOLDER = "{job_dir}"
STOP_GRACE_S = 5.0
TIME_LIMIT = Setting(
    "level_timeout_s",
    "Time limit per level, s",
    "real",
    (),
    "A tool that hangs is ended then, its level has no figures, and the next one begins. Its "
    "start-up counts, about 10 to 30 s. Empty: none but that of the whole run.",
)


@dataclass(frozen=True, slots=True)
class Point:
    """One level as a tool's command needs it; `result` is the path of the file it writes."""

    index: int
    concurrency: int
    requests: int
    seed: int
    result: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool printed and wrote at one level; `skipped` bytes of its output are missing.

    `requests` is how many it was asked to make, as the level's start tells.
    """

    requests: int | None
    printed: bytes
    result: bytes
    skipped: int


Command = Callable[[Point], Sequence[str]]


def points(workload: Mapping[str, object], ending: str) -> list[Point]:
    """Give the levels. With a new seed per level the n-th takes the workload's seed plus n."""
    levels = checks.levels(workload)
    requests = checks.requests(workload, len(levels))
    seed = checks.whole(workload, "seed", 0, 2**31 - 1 - checks.MAX_LEVELS, 1)
    step = 1 if checks.policy(workload) == "new-seed" else 0
    return [
        Point(i, level, n, seed + step * i, f"{FOLDER}/level-{i}.{ending}")
        for i, (level, n) in enumerate(zip(levels, requests, strict=True))
    ]


def job(
    workload: Mapping[str, object],
    *,
    base_url: str,
    reset: CacheReset,
    ending: str,
    command: Command,
    files: Mapping[str, str],
    env: Mapping[str, str],
) -> Job:
    """Assemble the bench job: one command for each level."""
    levels: list[JSON] = []
    shown = []
    for point in points(workload, ending):
        argv = [str(part) for part in command(point)]
        shown.append(tuple(part.replace(FOLDER + "/", "") for part in argv))
        levels.append(
            {
                "concurrency": point.concurrency,
                "requests": point.requests,
                "seed": point.seed,
                "argv": list[JSON](argv),
                "result": point.result,
            }
        )
    spec: dict[str, JSON] = {
        "base_url": base_url,
        "levels": levels,
        "env": dict(env),
        "cache": reset.told(checks.policy(workload)),
        "level_timeout_s": checks.real(workload, TIME_LIMIT.name, 1, 86_400, None),
        "stop_grace_s": STOP_GRACE_S,
    }
    return Job(ARGV, {SPEC_FILE: json.dumps(spec), **files}, tuple(shown), in_server_env=True)


def words(workload: Mapping[str, object], field: str) -> list[str]:
    """Give a field's words as a shell would; nothing in it is expanded."""
    try:
        return shlex.split(checks.text(workload, field, most=4000))
    except ValueError as problem:
        if isinstance(problem, WorkloadError):
            raise
        raise WorkloadError(field, "a quotation mark is not closed") from None


def tool_output(told: bytes, level: int) -> ToolOutput:
    """Put together what the records of one level carry."""
    reader = LoadReader()
    records = reader.feed(told)
    asked = [r.requests for r in records if isinstance(r, LevelStart) and r.level == level]
    pieces = [r for r in records if isinstance(r, Output) and r.level == level]
    return ToolOutput(
        requests=asked[-1] if asked else None,
        printed="".join(p.text for p in pieces if not p.is_result).encode("utf-8", "replace"),
        result="".join(p.text for p in pieces if p.is_result).encode("utf-8", "replace"),
        skipped=sum(p.skipped for p in pieces),
    )
