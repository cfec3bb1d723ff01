"""What a launch prints from its first line to the capacity line, and the ways it fails there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Callable

from . import loglines, tracebacks
from .engine import ARCHITECTURE
from .faults import Surroundings
from .launch import Launch
from .memory import (
    DRAFT_WEIGHTS_GIB,
    USABLE_GIB,
    WEIGHTS_GIB,
    MemoryPlan,
    NotEnoughMemory,
    plan_memory,
)
from .output import Log
from .shapes import captured_batches, captured_prefills

# Shares of the start-up time. What is left (10 %) is the warm-up, while /health says 503.
IMPORTS_SHARE = 0.25
WEIGHTS_SHARE = 0.25
POOLS_SHARE = 0.05
GRAPHS_SHARE = 0.35
WARMUP_SHARE = 0.10
GRAPH_KEYS = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")


class StartupFailed(Exception):
    """The server cannot start; its lines are written, the process exits with 1."""


@dataclass(frozen=True)
class Started:
    """The outcome of a start: where memory went, and the seconds of each phase."""

    memory: MemoryPlan
    timings: dict[str, Any]


class Startup:
    """Prints the phases in order; each takes its share of `surroundings.startup_s`."""

    def __init__(
        self,
        launch: Launch,
        surroundings: Surroundings,
        log: Log,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._launch = launch
        self._surroundings = surroundings
        self._log = log
        self._sleep = sleep
        self._left = USABLE_GIB

    def run(self) -> Started:
        """All phases up to the capacity line. Raises StartupFailed."""
        self._greet()
        self._load_weights()
        memory = self._pools()
        graphs = self._capture(memory)
        self._capacity(memory)
        total = self._surroundings.startup_s
        weights, pools = total * WEIGHTS_SHARE, total * POOLS_SHARE
        scheduler, tokenizer = total * (1.0 - WARMUP_SHARE), total * IMPORTS_SHARE
        self._log.info(loglines.timings(weights, pools, scheduler, graphs, tokenizer))
        timings = {
            "load_weight": weights,
            "kv_cache_allocation": pools,
            "scheduler_e2e": scheduler,
            "cuda_graph": graphs,
            "tokenizer_e2e": tokenizer,
        }
        return Started(memory, timings)

    def _spend(self, share: float) -> float:
        seconds = self._surroundings.startup_s * share
        self._sleep(seconds)
        return seconds

    def _greet(self) -> None:
        self._log.info(loglines.SIMULATED)
        for note in self._launch.notes:
            if note.startswith("\x1b"):
                self._log.plain(note)
            else:
                self._log.warning(note)
        self._log.info(loglines.server_args(self._launch.resolved))
        self._log.info(
            "Using default HuggingFace chat template with detected content format: string"
        )
        self._spend(IMPORTS_SHARE)
        self._log.scheduler("Init torch distributed begin.")
        self._log.scheduler("Init torch distributed ends. elapsed=0.02 s, mem usage=0.09 GB")
        if self._surroundings.fault == "crash-at-start":
            raise self._fail(tracebacks.INIT_FRAMES, tracebacks.START_UP_CRASH)

    def _load_weights(self) -> None:
        path = str(self._launch["model_path"])
        tp = self._launch["tp_size"]
        self._load_one(path, WEIGHTS_GIB / tp, WEIGHTS_SHARE)
        if self._launch.speculative:
            draft = self._launch["speculative_draft_model_path"] or path
            self._load_one(str(draft), DRAFT_WEIGHTS_GIB / tp, 0.0)

    def _load_one(self, path: str, size: float, share: float) -> None:
        self._log.scheduler(f"Load weight begin. avail mem={self._left:.2f} GB")
        if "missing" in path:
            raise self._fail(tracebacks.LOAD_FRAMES, tracebacks.weights_missing(path))
        seconds = self._spend(share)
        self._left -= size
        self._log.scheduler(
            f"Load weight end. elapsed={seconds:.2f} s, type={ARCHITECTURE}, "
            f"avail mem={self._left:.2f} GB, mem usage={size:.2f} GB."
        )

    def _pools(self) -> MemoryPlan:
        launch = self._launch
        try:
            memory = plan_memory(
                launch.speculation,
                mem_fraction=launch.mem_fraction,
                tp_size=launch["tp_size"],
                max_running_requests=launch.asked_limit,
                max_total_tokens=launch["max_total_tokens"],
                graphs=launch.graph_decode,
            )
        except NotEnoughMemory:
            raise self._fail(tracebacks.INIT_FRAMES, tracebacks.NOT_ENOUGH_MEMORY) from None
        if memory.limit_from_memory:
            self._log.scheduler_warning(loglines.capped(memory.limit, memory.states_per_request))
        self._spend(POOLS_SHARE)
        after = memory.left + memory.graphs
        self._allocated(memory, (self._left + after) / 2 if launch.speculative else after)
        if launch.speculative:
            self._allocated(memory, after)
        return memory

    def _allocated(self, memory: MemoryPlan, left: float) -> None:
        half = memory.kv_cache / 2 / (2 if self._launch.speculative else 1)
        self._log.scheduler(
            f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {memory.kv_tokens}, "
            f"K size: {half:.2f} GB, V size: {half:.2f} GB"
        )
        self._left = left
        self._log.scheduler(f"Memory pool end. avail mem={left:.2f} GB")

    def _capture(self, memory: MemoryPlan) -> dict[str, float]:
        phases = self._capture_phases(memory)
        seconds = dict.fromkeys(GRAPH_KEYS, 0.0)
        share = GRAPHS_SHARE / max(1, len(phases))
        used = memory.graphs / max(1, len(phases))
        for what, backend, shape, sizes in phases:
            self._log.scheduler(loglines.capture_begin(what, backend, shape, sizes, self._left))
            label = "num tokens (num_tokens" if "prefill" in what else "batches (bs"
            if self._surroundings.fault == "oom-at-capture" and "prefill" not in what:
                raise self._fail(tracebacks.CAPTURE_FRAMES, tracebacks.CAPTURE_FAILED)
            key = what.replace("target prefill", "prefill").replace("target decode", "decode")
            seconds[key.replace(" ", "_")] = elapsed = self._spend(share)
            self._log.plain(loglines.capture_bar(label, sizes, self._left))
            self._left -= used
            self._log.scheduler(loglines.capture_end(what, elapsed, used, self._left))
        return seconds

    def _capture_phases(self, memory: MemoryPlan) -> list[tuple[str, str, str, list[int]]]:
        spec = self._launch.speculation
        batches = captured_batches(self._launch, memory.limit)
        prefills = captured_prefills(self._launch)
        phases: list[tuple[str, str, str, list[int]]] = []
        if prefills:
            phases.append(("target prefill", "breakable", "num_tokens", prefills))
        if batches and not self._launch.speculative:
            phases.append(("target decode", "full", "num_tokens_per_req=1, bs", batches))
        elif batches:
            verify = f"num_tokens_per_req={spec.draft_tokens}, bs"
            phases.append(("target verify", "full", verify, batches))
            phases.append(("draft decode", "full", f"num_tokens_per_req={spec.topk}, bs", batches))
            phases.append(("draft extend", "full", verify, batches))
        return phases

    def _capacity(self, memory: MemoryPlan) -> None:
        self._log.scheduler(
            loglines.capacity(
                memory.kv_tokens,
                self._launch["chunked_prefill_size"],
                self._launch["max_prefill_tokens"],
                memory.limit,
                self._launch["context_length"],
                memory.left,
            )
        )

    def _fail(self, frames: Any, error: str) -> StartupFailed:
        self._log.scheduler_error(tracebacks.scheduler_exception(frames, error))
        self._log.error("Received sigquit from a child process. It usually means the child failed.")
        self._log.plain(tracebacks.launch_traceback(tracebacks.SCHEDULER_DIED))
        return StartupFailed()
