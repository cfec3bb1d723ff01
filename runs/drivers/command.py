"""Any script of the team's: its words with placeholders, its output in a form that we read.

What it may print is described in docs/command-driver.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from runs.drivers import checks, named, tool
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job, Named, Setting
from runs.drivers.last_line import read_last_line
from runs.drivers.load_records import LevelEnd, LoadReader
from runs.drivers.prompts import FILE, NAME, read_prompts
from runs.drivers.summary import summarise
from runs.drivers.tool import FOLDER, Point, tool_output
from runs.engines.base import JSON
from runs.engines.cache import USUAL, CacheReset

SCRIPT = "script"
PLACEHOLDERS = (
    "concurrency",
    "base_url",
    "model",
    "seed",
    "requests",
    "result",
    "prompts",
    "job_dir",
    "max_tokens",
    "temperature",
)
_WORD = re.compile(r"\{([a-z_]+)\}")


class Command:
    """One process per level, started without a shell."""

    name = "command"
    title = "a command of yours"
    prompt_sets = (SCRIPT, FILE)
    settings = (
        Setting(
            "command",
            "Command",
            "text",
            (),
            "Words with {concurrency}, {requests}, {base_url}, {model}, {seed}, {result}, "
            "{prompts}, {max_tokens} or {temperature} in them. No shell reads it.",
        ),
        tool.TIME_LIMIT,
    )

    def start(
        self,
        workload: Mapping[str, object],
        *,
        base_url: str,
        model: str,
        model_path: str,
        reset: CacheReset = USUAL,
    ) -> Job:
        words = _words(workload)
        checks.choice(workload, "prompt_set", self.prompt_sets, SCRIPT)
        checks.whole(workload, "max_tokens", 1, checks.MAX_TOKENS, 1)
        temperature, max_tokens = checks.temperature(workload), workload.get("max_tokens")
        asked = {"max_tokens": max_tokens, "temperature": temperature}

        def command(point: Point) -> list[str]:
            values = {
                **{name: "" if value is None else f"{value}" for name, value in asked.items()},
                "concurrency": str(point.concurrency),
                "base_url": base_url,
                "model": model,
                "seed": str(point.seed),
                "requests": str(point.requests),
                "result": point.result,
                "prompts": f"{FOLDER}/{NAME}",
                "job_dir": FOLDER,
            }
            return [_WORD.sub(lambda found: values[found[1]], word) for word in words]

        files = {}
        if workload.get("prompt_set") == FILE:
            files[NAME] = read_prompts(str(workload.get("prompts") or "")).as_jsonl()
        return tool.job(
            workload,
            base_url=base_url,
            reset=reset,
            ending="json",
            command=command,
            files=files,
            env={},
        )

    def reader(self, offset: int, lines: int) -> LoadReader:
        return LoadReader(offset=offset, line=lines + 1)

    def defaults_named(self, workload: Mapping[str, object]) -> list[Named]:
        """Only what the command is told; what it does by itself nobody here can know."""
        used = set(_WORD.findall(str(workload.get("command") or "")))
        found = [each for each in named.common(workload) if each.field == "prompts"]
        if "temperature" not in used:
            text = "The command is not given {temperature}: what it sends is its own affair."
            found.append(Named("temperature", text))
        if "seed" not in used:
            text = "The command is not given {seed}: every level may ask the same prompts."
            found.append(Named("seed", text))
        return [*found, *named.cache(workload)]

    def summary(self, end: LevelEnd, told: bytes) -> dict[str, JSON]:
        output = tool_output(told, end.level)
        own = read_last_line(output.result) or read_last_line(output.printed)
        if own is not None:
            beside = {"exit": end.exit, "window_by": end.window_by, "tool": "command"}
            asked = {"requests": output.requests} if own.get("requests") is None else {}
            return {**beside, **own, **asked}
        return summarise(end, told)


def _words(workload: Mapping[str, object]) -> list[str]:
    """Give the command's words. Raises WorkloadError for none, and for unknown placeholders."""
    words = tool.words(workload, "command")
    if not words:
        raise WorkloadError("command", "name the program to run, with its arguments")
    for name in _WORD.findall(" ".join(words)):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
            raise WorkloadError("command", f"there is no {{{name}}}; there are {known}")
    if "{prompts}" in " ".join(words) and workload.get("prompt_set") != FILE:
        raise WorkloadError("prompt_set", "{prompts} needs prompts of your own: choose “file”")
    return words
