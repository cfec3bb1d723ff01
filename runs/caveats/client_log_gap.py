"""The client's figure and the server's log do not agree."""

from runs.caveats.base import Facts, Finding, Rule
from runs.metrics.format import number, share

MAX_GAP = 0.1


def find(facts: Facts) -> Finding | None:
    """Fire when they differ by more than a tenth of the log's figure."""
    client, log = facts.client_tps, facts.log_tps
    if client is None or not log:
        return None
    gap = abs(client - log) / log
    if gap <= MAX_GAP:
        return None
    text = (
        f"The client says {number(client)} tok/s and the server's log {number(log)}: they differ "
        f"by {share(gap)}. They count over different stretches of time; quote neither alone."
    )
    evidence = {"client_tps": client, "log_tps": round(log, 4), "gap": round(gap, 4)}
    return Finding("client-log-gap", text, {**evidence})


RULE: Rule[Facts] = Rule("client-log-gap", "warn", find)
