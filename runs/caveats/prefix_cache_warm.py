"""Cached tokens say that the prompts were in the prefix cache."""

from collections.abc import Sequence

from runs.caveats.base import Experiment, Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import share

MIN_SHARE = 0.1
# Chat templates and health probes share a few tokens with everything.
MIN_TOKENS = 512


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when a tenth or more of a level's prompt tokens came from the cache."""
    warm = [
        (level.hit_rate, level)
        for level in levels
        if level.hit_rate is not None
        and level.hit_rate >= MIN_SHARE
        and (level.cached_tokens or 0) >= MIN_TOKENS
    ]
    if not warm:
        return None
    rate, worst = max(warm, key=lambda pair: pair[0])
    text = (
        f"{share(rate)} of the prompt tokens of level {worst.concurrency} came from the prefix "
        "cache: time to first token is not that of new prompts. Flush before each level, or take "
        "a new seed."
    )
    evidence = {"level": worst.concurrency, "cached_share": round(rate, 4)}
    return Finding("prefix-cache-warm", text, {**evidence, "cached_tokens": worst.cached_tokens})


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "prefix-cache-warm",
    "warn",
    find,
    Experiment("flush the cache first", {"cache_policy": "flush"}, confirmed_by="worse"),
)
