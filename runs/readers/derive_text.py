"""What a text shows as a whole: how much of it is whole, what its lines imply together."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from statistics import median_low

from runs.engines.base import JSON, Damaged, Event, Sample
from runs.readers.reading import Segment
from runs.readers.results.base import ResultRow
from runs.readers.segments import moment

_Found = dict[str, JSON]
_MANY_LINES = 100
_ENOUGH = 300
_LETTER = re.compile(r"([A-Za-z0-9]{1,12}):")


def derived_of_text(
    samples: Sequence[Sample],
    events: Sequence[Event],
    damaged: Sequence[Damaged],
    context: Mapping[str, JSON],
    *,
    elided: bool,
) -> _Found:
    """Count records and damage; give what a series of lines says together."""
    lines = [each for each in samples if each.phase == "decode"]
    records = len(samples) + len(damaged) if samples else 0
    found: _Found = {
        "records": records or None,
        "intact_records": len(samples) if damaged and samples else None,
        "damaged_records": len(damaged) or None,
        "gap_marked": True if elided else None,
        "hosts": context.get("hosts"),
        "graph_max_bs": context.get("graph_max_bs"),
        "sm_clock_change": _clock_change(events),
        "interval_s": _interval(samples),
        "tokens_per_request_step": _tokens_per_step(samples),
    }
    return found | _users(lines) | _implied(lines) | _slots(lines)


def attempts(rows: Sequence[ResultRow]) -> _Found:
    """Count the rows of a concurrency that was tried more than once, where others were not."""
    counts = Counter(row.concurrency for row in rows if row.concurrency is not None)
    several = {at: number for at, number in counts.items() if number > 1}
    if len(several) == len(counts):
        return {}
    return {f"attempts_at_concurrency_{at}": number for at, number in several.items()}


def derived_of_lives(segments: Sequence[Segment]) -> _Found:
    """Give the longest accept len that each life can reach, and the ratio of two named parts."""
    found: _Found = {}
    for number, each in enumerate(segments):
        steps, drafts = each.told.get("spec_num_steps"), each.told.get("spec_num_draft_tokens")
        ceiling = steps + 1 if isinstance(steps, int) else drafts
        if ceiling is not None:
            found[f"accept_len_ceiling_of_segment_{number}"] = ceiling
    if len(segments) == 2:
        names = [_LETTER.match(str(each.told.get("label") or "")) for each in segments]
        first, second = (each.told.get("gen_throughput_mean") for each in segments)
        if all(names) and isinstance(first, float) and isinstance(second, float) and second:
            one, other = (name[1] for name in names if name)
            found[f"speedup_{one}_over_{other}"] = first / second
    return found


def _users(lines: Sequence[Sample]) -> _Found:
    """Give the speed of one user line by line where the batch changes: there is no one mean."""
    told = [each for each in lines if each.running and each.output_tps]
    if len(told) < 2 or len({each.running for each in told}) == 1:
        return {}
    found: _Found = {}
    if len(told) <= _MANY_LINES and len({each.rank for each in told}) == 1:
        found["per_request_tok_per_s"] = [_per_user(each) for each in told]
    for before, after in pairwise(told):
        if before.graph is True and after.graph is False:
            return found | {"per_request_drop_at_cliff": 1 - _per_user(after) / _per_user(before)}
    return found


def _per_user(line: Sample) -> float:
    return (line.output_tps or 0.0) / (line.running or 1)


def _implied(lines: Sequence[Sample]) -> _Found:
    """Give what length and rate say of the settings, where all lines say the same."""
    pairs = [(each.accept_len, each.accept_rate) for each in lines[:_ENOUGH]]
    told = [(length, rate) for length, rate in pairs if length and rate]
    if not told:
        return {}
    if any(rate > 1 for _, rate in told):  # only the length over the steps can be above one
        return {"spec_num_steps_implied": _one([length / rate for length, rate in told])}
    strict = _one([1 + (length - 1) / rate for length, rate in told])
    inclusive = _one([length / rate for length, rate in told])
    return {"accept_len_ceiling_implied": strict if strict == inclusive else None}


def _one(values: Sequence[float]) -> int | None:
    """Give the whole number that all values are near to."""
    near = {round(value) for value in values}
    exact = all(abs(value - round(value)) < 0.05 * max(value, 1) for value in values)
    return near.pop() if len(near) == 1 and exact else None


def _slots(lines: Sequence[Sample]) -> _Found:
    """Give the size of the pool of mamba states, from the line that fills it most."""
    told: list[tuple[float, int, int]] = []
    for each in lines:
        usage, number = each.extras.get("mamba_usage"), each.extras.get("mamba_num")
        if isinstance(usage, float) and isinstance(number, int) and usage > 0 and each.running:
            told.append((usage, number, each.running))
    if not told:
        return {}
    usage, number, running = max(told)
    found: _Found = {"mamba_slots_total": round(number / usage)}
    each_request = {number / running for _, number, running in told}
    if len(each_request) == 1 and number % running == 0:
        found["slots_per_request"] = number // running
    return found


def _interval(samples: Sequence[Sample]) -> JSON:
    """Give the seconds between the lines of one engine's statistics."""
    engines: dict[JSON, list[Sample]] = defaultdict(list)
    for each in [each for each in samples if each.phase == "interval"][:_ENOUGH]:
        engines[f"{each.extras.get('source')} {each.rank}"].append(each)
    gaps = []
    for before, after in chain.from_iterable(map(pairwise, engines.values())):
        begin, end = moment(before.time), moment(after.time)
        if begin and end and end > begin:
            gaps.append((end - begin).total_seconds())
    return round(median_low(gaps)) if gaps else None  # of two, one may hold a restart


def _tokens_per_step(samples: Sequence[Sample]) -> JSON:
    """Give the tokens that each request gets verified in an iteration; None where they differ."""
    told = set()
    for each in samples:
        requests = each.extras.get("generation_req")
        tokens = each.extras.get("generation_tokens")
        if isinstance(requests, int) and isinstance(tokens, int) and requests:
            told.add(tokens / requests)
    found = told.pop() if len(told) == 1 else None
    return int(found) if found is not None and found == int(found) else None


def _clock_change(events: Sequence[Event]) -> JSON:
    """Give how the clock of the GPU that lost most of it changed from its first to its last row."""
    clocks: dict[JSON, list[float]] = {}
    for each in events:
        clock = each.data.get("sm_mhz")
        if each.kind in ("gpu_reading", "thermal_slowdown") and isinstance(clock, int | float):
            clocks.setdefault(str(each.data.get("gpu")), []).append(float(clock))
    changes = [mhz[-1] / mhz[0] - 1 for mhz in clocks.values() if len(mhz) > 1 and mhz[0]]
    return min(changes) if changes else None
