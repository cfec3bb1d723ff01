"""Cached tokens say that the prompts were in the prefix cache."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real
from runs.metrics.format import share

MIN_SHARE = 0.1
# Chat templates and health probes share a few tokens with everything.
MIN_TOKENS = 512


def find(paste: Paste) -> Finding | None:
    """Fire when a tenth or more of the prompt tokens of a part came from the cache."""
    for samples in paste.part_samples():
        lines = [each for each in samples if each.phase == "prefill"]
        cached = sum(each.cached_tokens or 0 for each in lines)
        new = sum(each.new_tokens or 0 for each in lines)
        if cached >= MIN_TOKENS and cached >= MIN_SHARE * (cached + new):
            return _finding(cached / (cached + new), cached)
    for row in paste.rows:
        rate = row.value("cache_hit_rate")
        if rate is not None and rate >= MIN_SHARE:
            return _finding(rate, None)
    rates = [real(each.extras.get("prefix_hit_rate")) or 0.0 for each in paste.intervals]
    return _finding(max(rates), None) if rates and max(rates) >= MIN_SHARE else None


def _finding(rate: float, cached: int | None) -> Finding:
    text = (
        f"{share(rate)} of the prompt tokens came from the prefix cache: time to first token is "
        "not "
        "that of new prompts. Flush between runs, or change the seed."
    )
    return Finding(
        "prefix-cache-warm", text, {"cached_share": round(rate, 4), "cached_tokens": cached}
    )
