"""The client holds the requests, not the server."""

from collections import defaultdict
from statistics import fmean

from runs.caveats.base import Finding
from runs.caveats.text.paste import LONE_ENGINE, Paste, dp_rank
from runs.engines.base import JSON, Sample

MAX_SHARE = 0.5


def find(paste: Paste) -> Finding | None:
    """Fire when the server runs less than half of what the client has in flight, and none waits."""
    lines = [each for each in (*paste.decodes, *paste.intervals) if each.running is not None]
    clients = [row.concurrency_measured or row.concurrency or 0 for row in paste.rows]
    if not lines or len(paste.rows) != 1 or any(each.waiting for each in lines):
        return None
    running = _running(lines, paste.context.get("dp"))
    if not clients[0] or not running or running >= MAX_SHARE * clients[0]:
        return None
    text = (
        f"The client had {clients[0]:.3g} requests in flight while the server ran {running:.3g} "
        "and none "
        "waited: the client, its core or a proxy is the limit, and the latencies are the client's."
    )
    evidence: dict[str, JSON] = {
        "running_mean": round(running, 3),
        "client_concurrency": clients[0],
    }
    return Finding("client-bottleneck", text, evidence)


def _running(lines: list[Sample], told: JSON) -> float | None:
    """Give what all DP ranks and servers run together; None where some of them are not shown."""
    ranks: dict[tuple[JSON, JSON], list[int]] = defaultdict(list)
    for each in lines:
        rank: JSON = each.rank if each.phase == "interval" else dp_rank(each)
        ranks[each.extras.get("source"), rank].append(each.running or 0)
    lone = len(ranks) == 1 and {rank for _, rank in ranks} <= {None, LONE_ENGINE}
    several = isinstance(told, int) and told > len(ranks)
    if several or (len(ranks) == 1 and not lone):
        return None
    return sum(fmean(each) for each in ranks.values())
