"""vLLM as the house's engine: each question is answered by the module beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs.engines.base import JSON, Event
from runs.engines.cache import CacheReset
from runs.engines.sglang.flags import FlagError
from runs.engines.sglang.launch import tokens
from runs.engines.smoke import USUAL, Smoke
from runs.engines.vllm import crash, facts, flags, ready
from runs.engines.vllm.reader import LogReader

HOST = "127.0.0.1"  # the load runs on the node itself; nobody else is invited
# A word of a rerun that stands for a part of --speculative-config.
STEPS = "--speculative-num-steps"
METHODS = {"EAGLE": "eagle", "EAGLE3": "eagle3", "NEXTN": "mtp", "STANDALONE": "draft_model"}


class Vllm:
    """vLLM's V1 engine, 0.8 and later."""

    name = "vllm"
    fields = {
        "tp": "--tensor-parallel-size",
        "mem_fraction_static": "--gpu-memory-utilization",
        "max_running_requests": "--max-num-seqs",
    }
    cache_reset = CacheReset(
        "/reset_prefix_cache",
        "vLLM has this route only in its development mode: set VLLM_SERVER_DEV_MODE=1 in the "
        "server's environment",
        (
            "/metrics",
            "vllm:prefix_cache_hits_total",
            "vllm:prefix_cache_queries_total",
        ),
    )

    def command(self, told: Mapping[str, Any], *, model: str, port: int) -> list[str]:
        checked = flags.validate({**told, "--host": HOST, "--port": port})
        return ["vllm", "serve", model, *tokens(checked)]

    def read_flags(self, words: Sequence[str]) -> dict[str, Any]:
        return dict(flags.from_tokens(words))

    def speculation(
        self, algorithm: str, *, steps: int, topk: int | None, draft: str
    ) -> dict[str, Any]:
        if topk not in (None, 1):
            raise FlagError("--speculative-eagle-topk", "vLLM drafts a chain: leave it at 1")
        told = {"method": METHODS[algorithm], "model": draft, "num_speculative_tokens": steps}
        return dict(flags.with_speculation({}, {k: v for k, v in told.items() if v}))

    def untyped(self, told: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        rest = dict(told)
        found = {field: rest.pop(flag) for field, flag in self.fields.items() if flag in rest}
        parts = flags.speculation(told)
        algorithms = {method: name for name, method in METHODS.items()}
        algorithm = algorithms.get(str(parts.get("method")))
        if algorithm and set(parts) <= {"method", "model", flags.STEPS}:
            del rest[flags.SPECULATION]
            found |= {"speculative_algorithm": algorithm, "steps": parts.get(flags.STEPS)}
            found["draft_model_path"] = parts.get("model")
        return found, rest

    def rerun(
        self, before: Mapping[str, Any], overrides: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        asked = dict(overrides)
        steps = asked.pop(STEPS, asked.pop("steps", None))
        merged = {**flags.validate(before), **{flags.canonical(k): v for k, v in asked.items()}}
        if steps is not None:
            now = flags.speculation(merged)
            if not now:
                raise FlagError(STEPS, f"needs {flags.SPECULATION}")
            merged = flags.with_speculation(merged, {**now, flags.STEPS: int(steps)})
        return dict(flags.validate(merged)), {}

    def served_model(self, told: Mapping[str, Any], *, model: str) -> str:
        name = told.get(flags.SERVED) or model
        return str(name[0] if isinstance(name, list) else name)

    def expected(
        self,
        told: Mapping[str, Any],
        *,
        model: str,
        smoke: Smoke = USUAL,
        any_arguments: bool = False,  # it tells none that could be held against it
    ) -> ready.Expected:
        return ready.Expected(model, self.served_model(told, model=model), smoke)

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
        return crash.explain(text)
