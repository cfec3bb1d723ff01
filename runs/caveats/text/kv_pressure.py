"""A pool of the server is full or nearly so."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.caveats.text.pools import pools
from runs.metrics.format import share

FULL = 0.95
FULL_V0 = 0.90


def find(paste: Paste) -> Finding | None:
    """Fire at 95 % of any pool (90 % on vLLM V0, which swaps)."""
    worst: tuple[float, str] = (0.0, "")
    for sample in paste.samples:
        limit = FULL_V0 if "swapped_req" in sample.extras else FULL
        for pool, usage in pools(sample):
            if usage >= limit and usage > worst[0]:
                worst = (usage, pool)
    if not worst[1]:
        return None
    text = (
        f"The {worst[1]} pool is {share(worst[0])} full: requests are held back, retracted or "
        "preempted, and throughput measures memory."
    )
    return Finding("kv-pressure", text, {"pool": worst[1], "usage": worst[0]})
