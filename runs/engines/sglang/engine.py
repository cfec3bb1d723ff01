"""SGLang as the house's engine: each question is answered by the module beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runs.engines.base import JSON, Event
from runs.engines.cache import CacheReset
from runs.engines.sglang import crash, facts, launch, ready
from runs.engines.sglang.log import LogReader
from runs.engines.smoke import USUAL, Smoke

HOST = "127.0.0.1"  # the load runs on the node itself; nobody else is invited
SPECULATION = {
    "speculative_algorithm": launch.ALGORITHM,
    "draft_model_path": launch.DRAFT_MODEL,
    "steps": launch.STEPS,
    "eagle_topk": launch.TOPK,
}


class Sglang:
    """SGLang 0.4 to 0.5."""

    name = "sglang"
    fields = {
        "tp": "--tp",
        "mem_fraction_static": "--mem-fraction-static",
        "max_running_requests": "--max-running-requests",
    }
    cache_reset = CacheReset("/flush_cache", "")

    def command(self, flags: Mapping[str, Any], *, model: str, port: int) -> list[str]:
        ours = {"--host": HOST, "--port": port}
        return launch.command({"--model-path": model, **flags, **ours})

    def read_flags(self, words: Sequence[str]) -> dict[str, Any]:
        return dict(launch.from_tokens(words))

    def speculation(
        self, algorithm: str, *, steps: int, topk: int | None, draft: str
    ) -> dict[str, Any]:
        values = (algorithm, draft, steps, topk)
        told = zip(SPECULATION.values(), values, strict=True)
        return {flag: value for flag, value in told if value not in (None, "")}

    def untyped(self, flags: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        rest = dict(flags)
        named = {**self.fields, **SPECULATION}
        told = {field: rest.pop(flag) for field, flag in named.items() if flag in rest}
        if told.get("eagle_topk") == 1:
            rest.pop(launch.DRAFT_TOKENS, None)  # it follows from the steps
        return told, rest

    def rerun(
        self, flags: Mapping[str, Any], overrides: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        changed = launch.rerun(flags, overrides)
        return dict(changed.flags), {derived.key: derived.why for derived in changed.derived}

    def served_model(self, flags: Mapping[str, Any], *, model: str) -> str:
        return str(flags.get("--served-model-name") or model)

    def expected(
        self,
        flags: Mapping[str, Any],
        *,
        model: str,
        smoke: Smoke = USUAL,
        any_arguments: bool = False,
    ) -> ready.Expected:
        meant = ready.Expected.of({"--model-path": model, **flags}, smoke)
        return replace(meant, any_arguments=any_arguments)

    def ready_requests(self, expected: ready.Expected) -> list[dict[str, JSON]]:
        return ready.requests(expected)

    def judge(
        self, responses: Mapping[str, Mapping[str, object]], expected: ready.Expected
    ) -> ready.Readiness:
        return ready.judge(responses, expected)

    def log_reader(self, offset: int, lines: int) -> LogReader:
        return LogReader(offset=offset, line=lines + 1)

    def startup_facts(self, events: Iterable[Event]) -> dict[str, JSON]:
        return facts.startup_facts(events)

    def explain_crash(self, text: str) -> str | None:
        reader = LogReader()
        return crash.why([*reader.feed(text.encode()), *reader.finish()])
