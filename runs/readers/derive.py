"""Values worth showing that follow from what was read; what has no basis is left out."""

from collections import defaultdict
from collections.abc import Container, Sequence
from itertools import pairwise
from statistics import fmean

from runs.caveats.text.pools import pools
from runs.engines.base import JSON, Event, Request, Sample, rank_tags
from runs.metrics.acceptance import definition_of
from runs.metrics.window import decodes, idle_gaps, log_figures, partial_windows, trimmed
from runs.readers.derive_intervals import intervals_of
from runs.readers.derive_rows import derived_of_rows
from runs.readers.derive_text import attempts, derived_of_lives
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
        partial = partial_windows(samples)
        batches = _without_means(_batches(samples, partial), samples, segments)
        found |= _several_engines(batches, intervals_of(samples))
        found |= _ranks(samples, partial) | _pools(samples) | _queues(samples) | _prompts(samples)
    if requests:
        found["requests"] = len(requests)
    found |= _segments(segments, samples) | _events(events) | derived_of_rows(rows)
    found |= attempts(rows) | derived_of_lives(segments)
    return {key: value for key, value in found.items() if value not in (None, [], {})}


def _batches(samples: Sequence[Sample], partial: set[int]) -> _Found:
    lines = decodes(samples)
    if not lines and not any(each.phase == "prefill" for each in samples):
        return {}
    figures, steady = log_figures(samples, partial), trimmed(samples, partial)
    speeds = [each.output_tps for each in lines if each.output_tps is not None]
    each_user = [
        each.output_tps / each.running for each in steady if each.output_tps and each.running
    ]
    told = [each.graph for each in lines if each.graph is not None]
    excluded: list[JSON] = [*sorted(partial)]
    return {
        "decode_lines": figures.decode_lines,
        "prefill_lines": sum(1 for each in samples if each.phase == "prefill"),
        "excluded_decode_indexes": excluded,
        "gen_throughput_mean": figures.output_tps,
        "gen_throughput_mean_naive": fmean(speeds) if speeds and excluded else None,
        "per_request_tok_per_s": fmean(each_user) if each_user else None,
        "accept_len_mean": figures.accept_len,
        "accept_rate_definition": _definition(lines),
        "speculative": any(each.accept_len is not None for each in lines) if lines else None,
        "running_req_max": figures.running_max,
        "running_req_mean": _mean([each.running for each in lines]),
        "graph_on_share": told.count(True) / len(told) if told else None,
        "accept_len_max": max((each.accept_len for each in lines if each.accept_len), default=None),
        "bursts": len(idle_gaps(lines)) + 1 if lines else None,
        **_drift(lines, partial),
        "first_eager_index": next((i for i, each in enumerate(lines) if each.graph is False), None),
    }


_MEANS = ("gen_throughput_mean", "gen_throughput_mean_naive", "per_request_tok_per_s")
_DRIFT = ("gen_throughput_change", "tokens_per_request_first", "tokens_per_request_last")


def _without_means(found: _Found, samples: Sequence[Sample], segments: Sequence[Segment]) -> _Found:
    """Leave out means and changes over several servers, or across a restart."""
    sources = {each.extras.get("source") for each in samples if each.phase == "decode"}
    if len(segments) < 2 and len(sources) < 2:
        return found
    apart = (*_MEANS, *_DRIFT, "accept_len_mean")
    kept = {key: value for key, value in found.items() if key not in apart}
    if len(sources) < 2:
        return kept
    by_source: _Found = {
        str(source): log_figures(
            [s for s in samples if s.extras.get("source") == source]
        ).output_tps
        for source in sorted(map(str, sources))
    }
    return kept | {"gen_throughput_mean_by_source": by_source}


def _drift(lines: Sequence[Sample], partial: Container[int]) -> _Found:
    """Give how speed and context change over whole lines of one batch size."""
    told = [
        (index, each)
        for index, each in enumerate(lines)
        if each.running and each.tokens and each.output_tps and index not in partial
    ]
    if len(told) < 2 or len({each.running for _, each in told}) > 1:
        return {}
    first, last = told[0][1], told[-1][1]
    running = first.running or 1
    found: _Found = {
        "tokens_per_request_first": (first.tokens or 0) / running,
        "tokens_per_request_last": (last.tokens or 0) / running,
        "gen_throughput_change": (last.output_tps or 0) / (first.output_tps or 1) - 1,
    }
    steps = {
        round(((b.tokens or 0) - (a.tokens or 0)) / running)
        for (place, a), (next_place, b) in pairwise(told)
        if next_place == place + 1 and a.accept_len is None and (b.tokens or 0) > (a.tokens or 0)
    }
    # Without speculation each request grows by one token a step.
    return found | ({"decode_log_interval": steps.pop()} if len(steps) == 1 else {})


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


def _ranks(samples: Sequence[Sample], partial: Container[int]) -> _Found:
    """Sum the last line of each DP rank; other ranks repeat a batch and are not added."""
    last: dict[int, Sample] = {}
    speeds: dict[int, list[float]] = defaultdict(list)
    for index, sample in enumerate(decodes(samples)):
        rank = rank_tags(sample.rank).get("DP")
        if rank is not None:
            last[rank] = sample
            if sample.output_tps is not None and index not in partial:
                speeds[rank].append(sample.output_tps)
    if len(last) < 2:
        return {}
    return {
        "ranks": [each.rank for _, each in sorted(last.items())],
        "running_req_total": _sum([each.running for each in last.values()]),
        "gen_throughput_total_last": _sum([each.output_tps for each in last.values()]),
        "gen_throughput_mean_of_ranks": _mean([fmean(each) for each in speeds.values()]),
    }


def _sum(values: Sequence[int | float | None]) -> float | None:
    """Add what every rank told; a sum without one of them is of another server."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


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


def _several_engines(batches: _Found, intervals: _Found) -> _Found:
    """Join what two engines printed; no mean is taken over both."""
    if not batches.get("decode_lines") or not intervals.get("intervals"):
        return batches | intervals
    most = [each.get("running_req_max") for each in (batches, intervals)]
    means: _Found = {
        name: each.get("gen_throughput_mean")
        for name, each in (("decode", batches), ("interval", intervals))
    }
    joined = {k: v for k, v in (batches | intervals).items() if k not in _MEANS}
    return joined | {
        "gen_throughput_mean_by_phase": means,
        "running_req_max": max((each for each in most if isinstance(each, int)), default=None),
    }


def _segments(segments: Sequence[Segment], samples: Sequence[Sample]) -> _Found:
    shares: list[JSON] = [
        _prompts([samples[place] for place in each.samples]).get("cache_hit_share")
        for each in segments
    ]
    speeds = [each.told.get("gen_throughput_mean") for each in segments]
    found: _Found = {} if None in shares else {"cached_share": shares}
    for number, (before, after) in enumerate(pairwise(speeds)):
        if isinstance(before, float) and isinstance(after, float) and before:
            found[f"speedup_segment_{number + 1}_over_{number}"] = after / before
    return found


def _events(events: Sequence[Event]) -> _Found:
    retracted = [each.data.get("requests") for each in events if each.kind == "retraction"]
    whole = [value for value in retracted if isinstance(value, int)]
    counted = [each.data.get("cumulative") for each in events if each.kind == "preemption"]
    since_start = max((value for value in counted if isinstance(value, int)), default=None)
    hot = next((each.time for each in events if each.kind == "thermal_slowdown"), None)
    return {"retracted_total": sum(whole) if whole else since_start, "throttled_from": hot}
