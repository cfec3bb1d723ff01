"""Values worth showing that follow from what was read; what has no basis is left out."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from runs.caveats.text.pools import pools
from runs.engines.base import JSON, Event, Request, Sample, rank_tags
from runs.metrics.acceptance import definition_of, level_accept_len, pooled_accept_len
from runs.metrics.window import log_figures, partial_windows, trimmed
from runs.readers.reading import Segment
from runs.readers.results.base import ResultRow

_Found = dict[str, JSON]


def derived(
    samples: Sequence[Sample],
    events: Sequence[Event],
    requests: Sequence[Request],
    rows: Sequence[ResultRow],
    segments: Sequence[Segment],
) -> _Found:
    """Gather what each part of the text shows."""
    found: _Found = {}
    if samples:
        found |= _batches(samples) | _ranks(samples) | _pools(samples) | _queues(samples)
        found |= _prompts(samples) | _intervals(samples)
    if requests:
        found["requests"] = len(requests)
    found |= _segments(segments) | _events(events) | _rows(rows)
    return {key: value for key, value in found.items() if value not in (None, [], {})}


def _batches(samples: Sequence[Sample]) -> _Found:
    lines = [each for each in samples if each.phase == "decode"]
    if not lines and not any(each.phase == "prefill" for each in samples):
        return {}
    figures, steady = log_figures(samples), trimmed(samples)
    speeds = [each.output_tps for each in lines if each.output_tps is not None]
    each_user = [
        each.output_tps / each.running for each in steady if each.output_tps and each.running
    ]
    told = [each.graph for each in lines if each.graph is not None]
    excluded: list[JSON] = [*sorted(partial_windows(samples))]
    return {
        "decode_lines": figures.decode_lines,
        "prefill_lines": sum(1 for each in samples if each.phase == "prefill"),
        "excluded_decode_indexes": excluded,
        "gen_throughput_mean": figures.output_tps,
        "gen_throughput_mean_naive": fmean(speeds) if speeds and excluded else None,
        "per_request_tok_per_s": fmean(each_user) if each_user else None,
        "accept_len_mean": level_accept_len(lines),
        "accept_rate_definition": _definition(lines),
        "speculative": any(each.accept_len is not None for each in lines) if lines else None,
        "running_req_max": figures.running_max,
        "running_req_mean": _mean([each.running for each in lines]),
        "graph_on_share": told.count(True) / len(told) if told else None,
        "first_eager_index": next((i for i, each in enumerate(lines) if each.graph is False), None),
    }


_DEFINITIONS = {"strict": "drafts-only", "inclusive": "with-bonus", "per-step": "per-step"}


def _definition(lines: Sequence[Sample]) -> JSON:
    """Name the formula of the printed rates, where the lines alone tell it."""
    pairs = [
        (each.accept_len, each.accept_rate)
        for each in lines
        if each.accept_len is not None and each.accept_rate is not None
    ]
    return _DEFINITIONS.get(definition_of(pairs, {}) or "")


def _mean(values: Sequence[int | float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _ranks(samples: Sequence[Sample]) -> _Found:
    """Sum the last line of each DP rank; other ranks repeat a batch and are not added."""
    last: dict[int, Sample] = {}
    speeds: dict[int, list[float]] = defaultdict(list)
    for sample in samples:
        rank = rank_tags(sample.rank).get("DP")
        if sample.phase == "decode" and rank is not None:
            last[rank] = sample
            if sample.output_tps is not None:
                speeds[rank].append(sample.output_tps)
    if len(last) < 2:
        return {}
    return {
        "ranks": [each.rank for _, each in sorted(last.items())],
        "running_req_total": sum(each.running or 0 for each in last.values()),
        "gen_throughput_total_last": sum(each.output_tps or 0 for each in last.values()),
        "gen_throughput_mean_of_ranks": fmean(fmean(each) for each in speeds.values()),
    }


def _pools(samples: Sequence[Sample]) -> _Found:
    usages = [(usage, pool) for sample in samples for pool, usage in pools(sample)]
    if not usages:
        return {}
    most, pool = max(usages)
    found: _Found = {"pool_usage_max": most, "token_usage_max": most}
    if any(each.phase == "interval" for each in samples):
        found = {"kv_usage_max": most}
    several = len({name for _, name in usages}) > 1
    return found | (
        {"limiting_pool": pool.split(" ")[0].replace("sliding", "swa")} if several else {}
    )


def _queues(samples: Sequence[Sample]) -> _Found:
    waiting = [each.waiting for each in samples if each.waiting is not None]
    found: _Found = {"queue_req_max": max(waiting, default=None)}
    for name in ("transfer_req", "retracted_req", "preemptions"):
        values = [each.extras[name] for each in samples if name in each.extras]
        whole = [value for value in values if isinstance(value, int)]
        if whole:
            found[f"{name}_max"] = max(whole)
    return found


def _prompts(samples: Sequence[Sample]) -> _Found:
    lines = [each for each in samples if each.phase == "prefill"]
    if not lines:
        return {}
    new = sum(each.new_tokens or 0 for each in lines)
    cached = sum(each.cached_tokens or 0 for each in lines)
    return {
        "health_probe_lines": sum(map(_is_probe, lines)) or None,
        "prompt_tokens_new": new,
        "prompt_tokens_cached": cached,
        "cache_hit_share": cached / (new + cached) if new + cached else None,
        "input_throughput_mean": _mean([each.input_tps for each in lines]),
    }


def _is_probe(line: Sample) -> bool:
    """A health check of 0.5 and later generates one token on an idle server."""
    one = line.new_seq == line.new_tokens == 1
    return one and not line.cached_tokens and not line.running and not line.waiting


def _intervals(samples: Sequence[Sample]) -> _Found:
    lines = [each for each in samples if each.phase == "interval"]
    drafts = [each for each in samples if each.phase == "spec_interval"]
    found: _Found = {}
    if lines:
        loads = [(each.running or 0) + (each.waiting or 0) for each in lines]
        found |= {
            "intervals": len(lines),
            "running_req_max": max(each.running or 0 for each in lines),
            "offered_concurrency_estimate": max(loads) if max(loads) else None,
            "gen_throughput_mean": _mean([each.output_tps for each in lines]),
        }
    positions = [each.extras.get("per_position") for each in drafts]
    count = next((len(each) for each in positions if isinstance(each, list)), None)
    return found | {
        "num_speculative_tokens": count,
        "accept_len_pooled": pooled_accept_len(drafts, count) if count else None,
    }


def _segments(segments: Sequence[Segment]) -> _Found:
    speeds = [each.told.get("gen_throughput_mean") for each in segments]
    found: _Found = {}
    for number, (before, after) in enumerate(pairwise(speeds)):
        if isinstance(before, float) and isinstance(after, float) and before:
            found[f"speedup_segment_{number + 1}_over_{number}"] = after / before
    return found


def _events(events: Sequence[Event]) -> _Found:
    retracted = [each.data.get("requests") for each in events if each.kind == "retraction"]
    whole = [value for value in retracted if isinstance(value, int)]
    hot = next((each.time for each in events if each.kind == "thermal_slowdown"), None)
    return {"retracted_total": sum(whole) if whole else None, "throttled_from": hot}


def _rows(rows: Sequence[ResultRow]) -> _Found:
    """Give the ratios that tell how far a single row can be trusted."""
    if not rows:
        return {}
    points = {(each.concurrency, str(each.context.get("tag"))) for each in rows}
    found: _Found = {"attempts": len(rows), "points": len(points)}
    if len(rows) > 1:
        return found
    row = rows[0]
    ratios = {
        "mean_over_peak": ("output_tps", "peak_output_tps"),
        "itl_over_tpot": ("itl_mean", "tpot_mean"),
        "retokenized_share": ("output_tokens_retokenized", "output_tokens"),
        "offered_over_served": ("request_rate", "requests_per_s"),
    }
    for name, (above, below) in ratios.items():
        left, right = row.value(above), row.value(below)
        if left is not None and right:
            found[name] = left / right
    if row.concurrency_measured is not None:
        found["client_concurrency"] = row.concurrency_measured
        if row.concurrency:
            share = row.concurrency_measured / row.concurrency
            found["measured_over_requested_concurrency"] = share
    return found
