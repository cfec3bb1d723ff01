"""From the requests of one level to its summary. Pure: times in, numbers out, None for unknown.

Times are seconds on any one clock; what is returned is on the same clock.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

STEADY_SHARE = 0.95  # of the concurrency in flight
STEADY_DIP_S = 0.5  # shorter dips are the change from one request to the next
CURVE_POINTS = 400

Curve = List[Tuple[float, int]]


@dataclass(frozen=True)
class Measured:
    """One request as it went. `error` is {kind, message, status} or None."""

    n: int
    send: float
    first: Optional[float]
    last: Optional[float]
    end: float  # when it was no longer in flight
    sent: bool  # False: it was given up before it was sent
    prompt_tokens: Optional[int]
    cached_tokens: Optional[int]
    output_tokens: Optional[int]
    chunks: int
    finish: Optional[str]
    error: Optional[Dict[str, Any]]
    gaps: Sequence[float]

    @property
    def answered(self) -> bool:
        """Its stream was whole. One without usage still has its times."""
        return self.error is None or self.error["kind"] == "no-usage"

    @property
    def decode_s(self) -> Optional[float]:
        """From its first to its last text; None when that is not a span."""
        if self.first is None or self.last is None or self.last <= self.first:
            return None
        return self.last - self.first


def percentile(ordered: Sequence[float], share: float) -> Optional[float]:
    """Between the two nearest values in proportion; `ordered` is sorted."""
    if not ordered:
        return None
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def distribution(values: Iterable[float]) -> Dict[str, Optional[float]]:
    ordered = sorted(values)
    return {
        "mean": math.fsum(ordered) / len(ordered) if ordered else None,
        "p50": percentile(ordered, 0.50),
        "p90": percentile(ordered, 0.90),
        "p99": percentile(ordered, 0.99),
    }


def summarise(requests: Sequence[Measured], concurrency: int) -> Dict[str, Any]:
    """The level's summary in seconds and tokens (the keys are documented in docs/node-kit.md)."""
    answered = [r for r in requests if r.answered]
    span = window(requests)
    duration = span[1] - span[0] if span else None
    output_tokens = total([r.output_tokens for r in answered])
    curve = inflight(requests)
    return {
        "requests": len(requests),
        "failed": sum(1 for r in requests if r.error is not None),
        "duration_s": duration,
        "output_tokens": output_tokens,
        "output_tps": _ratio(output_tokens, duration),
        "user_tps": _mean_and_median(answered),
        "ttft": distribution(r.first - r.send for r in answered if r.first is not None),
        "tpot": distribution(_tpots(answered)),
        "itl": distribution(_gaps(answered)),
        "e2e": distribution(r.last - r.send for r in answered if r.last is not None),
        "prompt_tokens": total([r.prompt_tokens for r in answered]),
        "cached_tokens": _cached([r.cached_tokens for r in answered]),
        "inflight": [[t, n] for t, n in thinned(curve)],
        "steady": steady(answered, curve, concurrency),
    }


def window(requests: Iterable[Measured]) -> Optional[Tuple[float, float]]:
    """First send to last text; None when no text came."""
    sent = [r for r in requests if r.sent]
    ends = [r.last for r in sent if r.last is not None]
    return (min(r.send for r in sent), max(ends)) if ends else None


def total(counts: Sequence[Optional[int]]) -> Optional[int]:
    """Unknown as soon as one part is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _cached(counts: Sequence[Optional[int]]) -> Optional[int]:
    """SGLang reports only what is above zero, so among reports a missing one is a zero."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _ratio(count: Optional[float], seconds: Optional[float]) -> Optional[float]:
    return count / seconds if count is not None and seconds else None


def _tpots(requests: Iterable[Measured]) -> List[float]:
    """Seconds per output token after the first, per request."""
    return [
        r.decode_s / (r.output_tokens - 1)
        for r in requests
        if r.decode_s is not None and r.output_tokens is not None and r.output_tokens > 1
    ]


def _mean_and_median(requests: Iterable[Measured]) -> Dict[str, Optional[float]]:
    speeds = distribution(1 / tpot for tpot in _tpots(requests))
    return {"mean": speeds["mean"], "p50": speeds["p50"]}


def _gaps(requests: Iterable[Measured]) -> "array[float]":
    pooled = array("d")
    for request in requests:
        pooled.extend(request.gaps)
    return pooled


def inflight(requests: Iterable[Measured]) -> Curve:
    """How many requests were in flight from each moment on at which that changed."""
    changes: Dict[float, int] = {}
    for request in requests:
        if request.sent:
            changes[request.send] = changes.get(request.send, 0) + 1
            changes[request.end] = changes.get(request.end, 0) - 1
    curve: Curve = []
    count = 0
    for moment in sorted(changes):
        count += changes[moment]
        curve.append((moment, count))
    return curve


def thinned(curve: Curve, most: int = CURVE_POINTS) -> Curve:
    """At most `most` points: the first, then the state at the end of each equal part of time."""
    if len(curve) <= most:
        return curve
    begin, end = curve[0][0], curve[-1][0]
    width = (end - begin) / (most - 2)
    kept: Dict[int, Tuple[float, int]] = {}
    for moment, count in curve[1:]:
        kept[min(most - 2, int((moment - begin) / width))] = (moment, count)
    return [curve[0], *kept.values()]


def steady_span(curve: Curve, concurrency: int) -> Optional[Tuple[float, float]]:
    """The longest interval with at least 95 % of the concurrency in flight, short dips bridged."""
    spans: List[Tuple[float, float]] = []
    for (begin, count), (end, _) in zip(curve, curve[1:]):
        if count < STEADY_SHARE * concurrency:
            continue
        if spans and begin - spans[-1][1] < STEADY_DIP_S:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    longest = max(spans, key=lambda span: span[1] - span[0], default=None)
    return longest if longest and longest[1] > longest[0] else None


def steady(
    answered: Sequence[Measured], curve: Curve, concurrency: int
) -> Optional[Dict[str, Optional[float]]]:
    span = steady_span(curve, concurrency)
    if span is None:
        return None
    rate = _ratio(tokens_between(answered, *span), span[1] - span[0])
    return {"start": span[0], "end": span[1], "output_tps": rate}


def tokens_between(requests: Iterable[Measured], begin: float, end: float) -> Optional[float]:
    """Output tokens in a span, each request's taken as even from its first to its last text."""
    total = 0.0
    for request in requests:
        if request.output_tokens is None:
            return None
        if request.first is None or request.last is None:
            continue
        overlap = min(end, request.last) - max(begin, request.first)
        if request.decode_s is None:
            total += request.output_tokens if begin <= request.first <= end else 0
        elif overlap > 0:
            total += request.output_tokens * overlap / request.decode_s
    return total
