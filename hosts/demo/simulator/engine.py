"""The running engine: its settings, scheduler and cache, and how a question becomes a plan."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from dataclasses import dataclass
from typing import Any

from . import asked as asking
from . import text
from .asked import Asked
from .batching import Batching, Limits
from .faults import Surroundings
from .generation import Plan, Request, Sink
from .launch import Launch
from .memory import MemoryPlan
from .model import LOOP_TEMPERATURE, SpeedSettings, acceptance, launch_effect
from .output import Log
from .radix import PrefixCache
from .scheduler import Graphs, Scheduler
from .shapes import captured_batches, captured_prefills
from .tally import DecodeTally

VERSION = "0.5.20"
ARCHITECTURE = "SimulatedForCausalLM"


@dataclass(frozen=True)
class Prepared:
    """A request ready to be queued, and the text it will say."""

    plan: Plan
    source: text.TokenStream
    created: int
    model: str


class Engine:
    """Everything the HTTP side needs; made inside the running event loop."""

    def __init__(
        self, launch: Launch, memory: MemoryPlan, surroundings: Surroundings, log: Log
    ) -> None:
        self.launch = launch
        self.memory = memory
        self.surroundings = surroundings
        self.log = log
        self.status = "starting"  # then "ready", at last "stopping"
        self.startup_time: dict[str, Any] = {}
        self.cache = PrefixCache(memory.kv_tokens, not launch["disable_radix_cache"])
        self.scheduler = _scheduler(launch, memory, log)

    def be_ready(self) -> None:
        """The warm-up is done; from now on a step that needs more memory than is left kills."""
        self.status = "ready"
        self.scheduler.out_of_memory = self.memory.too_tight

    @property
    def shown_model(self) -> str:
        """The model this server says it is."""
        path = str(self.launch["model_path"])
        return path + "-other" if self.surroundings.fault == "wrong-model" else path

    @property
    def shown_name(self) -> str:
        if self.surroundings.fault == "wrong-model":
            return self.shown_model
        return self.launch.model_name

    def prepare(self, asked: Asked) -> Prepared:
        """Check lengths, look up the cache, settle what the answer will be. Raises Refused."""
        count, tokens = asking.prompt_tokens(asked)
        max_new = asking.check_lengths(
            asked, count, self.launch["context_length"], self.memory.kv_tokens
        )
        kind = text.kind_of(asked.prompt)
        opening = text.answer_to(asked.question)
        seed = _text_seed(asked)
        natural = _natural_length(opening, kind, seed)
        greedy = asked.temperature is not None and asked.temperature <= LOOP_TEMPERATURE
        spec = self.launch.speculation
        plan = Plan(
            rid=uuid.uuid4().hex,
            prompt_tokens=count,
            cached_tokens=self.cache.look_up(tokens),
            max_new=max_new,
            natural_end=None if asked.ignore_eos else natural,
            loops_after=natural if greedy and asked.ignore_eos else None,
            chances=acceptance(spec, kind, asked.temperature, False),
            loop_chances=acceptance(spec, kind, asked.temperature, True),
        )
        source = text.TokenStream(kind, seed, opening)
        return Prepared(plan, source, int(time.time()), asked.model or self.shown_name)

    def submit(self, plan: Plan, sink: Sink) -> None:
        self.scheduler.submit(Request(plan, sink))

    def probe_plan(self) -> Plan:
        """The one-token generation of a health check."""
        return Plan(
            rid="HEALTH_CHECK_" + uuid.uuid4().hex,
            prompt_tokens=1,
            cached_tokens=0,
            max_new=1,
            natural_end=None,
            loops_after=None,
            chances=(),
            loop_chances=(),
        )


def _text_seed(asked: Asked) -> int:
    """Greedy answers depend on the prompt alone, others on the request's seed or on chance."""
    if asked.temperature == 0:
        return text.seed_from(asked.prompt)
    chance = random.getrandbits(48) if asked.seed is None else asked.seed
    return text.seed_from(asked.prompt, chance, asked.temperature)


def _natural_length(opening: str | None, kind: str, seed: int) -> int:
    if opening is not None:
        return len(text.pieces(opening))
    return text.natural_length(kind, seed)


def _scheduler(launch: Launch, memory: MemoryPlan, log: Log) -> Scheduler:
    chunk = launch["chunked_prefill_size"]
    limits = Limits(
        running=memory.limit,
        kv_tokens=memory.kv_tokens,
        chunk=chunk if chunk > 0 else launch["max_prefill_tokens"],
        conservativeness=launch["schedule_conservativeness"],
        draft_tokens=launch.speculation.draft_tokens,
    )
    speed = SpeedSettings(
        speculation=launch.speculation,
        tp_size=launch["tp_size"],
        overlap=not launch["disable_overlap_schedule"],
        launch_effect=launch_effect(launch.seed),
    )
    graphs = Graphs(
        batches=frozenset(captured_batches(launch, memory.limit)),
        padding=not launch["disable_cuda_graph_padding"],
        prefill_tokens=max(captured_prefills(launch), default=0),
    )
    started = asyncio.get_running_loop().time()
    tally = DecodeTally(launch["decode_log_interval"], started, launch.speculative)
    return Scheduler(
        Batching(limits), speed, graphs, tally, log, launch.seed, launch["stream_interval"]
    )
