"""The KV pool is nearly full."""

from runs.caveats.base import Facts, Finding, Rule
from runs.metrics.format import share

FULL = 0.95


def find(facts: Facts) -> Finding | None:
    """Fire when a line inside a window tells more than 95 %."""
    usage = facts.usage_max
    if usage is None or usage <= FULL:
        return None
    text = (
        f"The KV pool was {share(usage)} full: near that, requests are held back, and throughput "
        "measures memory."
    )
    return Finding("kv-pressure", text, {"usage": round(usage, 4)})


RULE: Rule[Facts] = Rule("kv-pressure", "info", find)
