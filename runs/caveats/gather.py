"""Make a rule's facts from what is known of a run: flags, workload, levels, log."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from runs.caveats.base import Facts
from runs.engines.base import Sample, rank_tags
from runs.engines.sglang.launch import ALGORITHM, DRAFT_TOKENS, STEPS
from runs.metrics.window import decodes, log_figures

RUNNING = ("--max-running-requests", "--max-num-seqs")
DP = ("--dp", "--dp-size", "--data-parallel-size")
# Variables by which engines take an acceptance instead of measuring one.
FAKES = (
    "SGLANG_SIMULATE_ACC_LEN",
    "SIMULATE_ACC_LEN",
    "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS",
    "TRTLLM_FORCE_NUM_ACCEPTED_TOKENS",
)
KNOWN = re.compile(r"[a-z][a-z0-9_]*")


def gather(
    *,
    flags: Mapping[str, object] | None,
    effective: Mapping[str, object],
    workload: Mapping[str, object],
    levels: Iterable[int],
    samples: Sequence[Sample],
    client_tps: float | None,
    env: Mapping[str, object] | None = None,
    retracted: int = 0,
    restarts: int = 0,
    damaged: int = 0,
) -> Facts:
    """Gather the facts of one run or arm.

    `flags` None means that nobody knows them. `effective` may hold max_running_requests.
    `client_tps` is the client's output tok/s of the level to which the samples belong, if known.
    `retracted`, `restarts` and `damaged` count requests, start-ups and lines of the same time.
    """
    lines, figures = decodes(samples), log_figures(samples)
    graphs = [each.graph for each in lines if each.graph is not None]
    flags_known, largest = flags or {}, _largest(effective.get("graph_sizes"))
    usages = [each.token_usage for each in lines if each.token_usage is not None]
    return Facts(
        speculative=_speculative(flags, lines),
        temperature=_real(workload.get("temperature")),
        ignore_eos=workload["ignore_eos"] is True if "ignore_eos" in workload else None,
        levels=tuple(sorted(set(levels))),
        max_running_requests=_whole(effective.get("max_running_requests")),
        lines=len(lines),
        lines_waiting=sum(1 for each in lines if each.waiting),
        waiting_max=figures.waiting_max,
        running_max=figures.running_max,
        lines_graph_told=len(graphs),
        lines_graph_off=graphs.count(False),
        partial_lines=figures.partial_lines,
        accept_pairs=tuple(
            (each.accept_len, each.accept_rate)
            for each in lines
            if each.accept_len is not None and each.accept_rate is not None
        ),
        draft_tokens=_whole((flags or {}).get(DRAFT_TOKENS)),
        steps=_whole((flags or {}).get(STEPS)),
        client_tps=client_tps,
        log_tps=figures.output_tps,
        asked_running=_first_whole(flags_known, RUNNING),
        top_k=_whole(workload.get("top_k")),
        prompt_set=_word(workload.get("prompt_set")),
        chat_template=_switch(workload.get("apply_chat_template")),
        simulated=_simulated(flags_known, env or {}),
        graph_max=largest,
        lines_above_graph=_above(lines, largest),
        usage_max=max(usages, default=None),
        retracted=max(retracted, *(_counter(each) for each in lines), 0),
        restarts=restarts,
        dp_size=_first_whole(flags_known, DP),
        dp_ranks=tuple(sorted({rank for each in lines if (rank := _dp(each)) is not None})),
        damaged=damaged,
        unread_lines=sum(1 for each in lines if each.extras.get("unread")),
        unknown_labels=tuple(sorted({key for each in lines for key in each.extras if _new(key)})),
    )


def _new(key: str) -> bool:
    """A label that no release known here prints stands under its printed words."""
    return KNOWN.fullmatch(key) is None


def _dp(sample: Sample) -> int | None:
    return rank_tags(sample.rank).get("DP")


def _counter(sample: Sample) -> int:
    told = (sample.extras.get("retracted_req"), sample.extras.get("preemptions"))
    return max(_whole(value) or 0 for value in told)


def _above(lines: Sequence[Sample], largest: int | None) -> int:
    if largest is None:
        return 0
    return sum(1 for each in lines if each.running is not None and each.running > largest)


def _largest(sizes: object) -> int | None:
    told = [size for size in sizes if isinstance(size, int)] if isinstance(sizes, list) else []
    return max(told, default=None)


def _simulated(flags: Mapping[str, object], env: Mapping[str, object]) -> str | None:
    """What sets the acceptance by hand: a variable of the environment, or a flag's value."""
    for name in FAKES:
        if str(env.get(name) or "") not in ("", "0", "-1"):
            return f"{name}={env[name]}"
    for flag in ("--speculative-config", "--speculative_config"):
        told = flags.get(flag)
        text = told if isinstance(told, str) else json.dumps(told) if told else ""
        if "synthetic" in text:
            return f"{flag}: synthetic rejection sampler"
    return None


def _first_whole(flags: Mapping[str, object], names: Iterable[str]) -> int | None:
    return next((n for name in names if (n := _whole(flags.get(name))) is not None), None)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _switch(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _speculative(flags: Mapping[str, object] | None, lines: Sequence[Sample]) -> bool | None:
    """Accept len in the log proves it; else the flags tell, if they are known."""
    if any(each.accept_len is not None for each in lines):
        return True
    return None if flags is None else ALGORITHM in flags


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _real(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]
