"""SGLang as the house's engine: each question is answered by the module beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from runs.engines.base import JSON, Event
from runs.engines.sglang import crash, facts, launch, ready
from runs.engines.sglang.log import LogReader

HOST = "127.0.0.1"  # the load runs on the node itself; nobody else is invited


class Sglang:
    """SGLang 0.4 to 0.5."""

    name = "sglang"

    def command(self, flags: Mapping[str, Any], *, model: str, port: int) -> list[str]:
        ours = {"--host": HOST, "--port": port}
        return launch.command({"--model-path": model, **flags, **ours})

    def rerun(
        self, flags: Mapping[str, Any], overrides: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        changed = launch.rerun(flags, overrides)
        return dict(changed.flags), {derived.key: derived.why for derived in changed.derived}

    def served_model(self, flags: Mapping[str, Any], *, model: str) -> str:
        return str(flags.get("--served-model-name") or model)

    def expected(
        self, flags: Mapping[str, Any], *, model: str, any_arguments: bool = False
    ) -> ready.Expected:
        meant = ready.Expected.of({"--model-path": model, **flags})
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
