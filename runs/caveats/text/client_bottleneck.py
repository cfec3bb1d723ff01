"""The client holds the requests, not the server."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON

MAX_SHARE = 0.5


def find(paste: Paste) -> Finding | None:
    """Fire when the server runs less than half of what the client has in flight, and none waits."""
    lines = [each for each in (*paste.decodes, *paste.intervals) if each.running is not None]
    clients = [row.concurrency_measured or row.concurrency or 0 for row in paste.rows]
    if not lines or len(paste.rows) != 1 or any(each.waiting for each in lines):
        return None
    running = sum(each.running or 0 for each in lines) / len(lines)
    if not clients[0] or running >= MAX_SHARE * clients[0] or not running:
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
