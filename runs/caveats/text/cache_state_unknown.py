"""Nothing says whether the prompts were in the prefix cache already."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire for results without a flush, a cache report or prefill lines beside them."""
    if not paste.rows or paste.prefills or any(each.kind == "flush_ok" for each in paste.events):
        return None
    told = ("flush_cache", "cache_hit_rate", "cached_tokens", "disable_radix_cache")
    unknown = [
        row
        for row in paste.rows
        if (row.value("completed") or row.value("ttft_mean"))
        and not any(paste.setting(row, name) or name in row.metrics for name in told)
    ]
    if not unknown or any("prefix_hit_rate" in each.extras for each in paste.samples):
        return None
    text = (
        "Nothing here says whether the prefix cache was cold: no flush, no hit rate, no cached "
        "tokens. "
        "A second run with the same seed finds its prompts there."
    )
    return Finding("cache-state-unknown", text, {"rows": len(unknown)})
