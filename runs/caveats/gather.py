"""Make a rule's facts from what is known of a run: flags, workload, levels, log."""

from collections.abc import Iterable, Mapping, Sequence

from runs.caveats.base import Facts
from runs.engines.base import Sample
from runs.engines.sglang.launch import ALGORITHM, DRAFT_TOKENS, STEPS
from runs.metrics.window import decodes, log_figures


def gather(
    *,
    flags: Mapping[str, object] | None,
    effective: Mapping[str, object],
    workload: Mapping[str, object],
    levels: Iterable[int],
    samples: Sequence[Sample],
    client_tps: float | None,
) -> Facts:
    """Gather the facts of one run or arm.

    `flags` None means that nobody knows them. `effective` may hold max_running_requests.
    `client_tps` is the client's output tok/s of the level to which the samples belong, if known.
    """
    lines, figures = decodes(samples), log_figures(samples)
    graphs = [each.graph for each in lines if each.graph is not None]
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
    )


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
