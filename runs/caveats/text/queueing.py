"""Requests wait in the server."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON
from runs.engines.sglang.labels import PREFILL_NODE

# A line now and then is a burst, not a queue.
MIN_SHARE = 0.1


def find(paste: Paste) -> Finding | None:
    """Fire when at least a tenth of a node's lines say so.

    Prefill lines count where nothing decodes: alone in the text, or on a node that only prefills.
    """
    nodes = [paste.decodes or paste.intervals or paste.prefills]
    if paste.decodes:
        nodes.append([each for each in paste.prefills if PREFILL_NODE & each.extras.keys()])
    queues = [[each for each in node if each.waiting] for node in nodes]
    full = [
        (node, queue)
        for node, queue in zip(nodes, queues, strict=True)
        if queue and len(queue) >= MIN_SHARE * len(node)
    ]
    if not full:
        return None
    lines = [each for node, _ in full for each in node]
    waiting = [each.waiting for _, queue in full for each in queue if each.waiting]
    most = max(waiting)
    text = (
        f"Requests wait in {len(waiting)} of {len(lines)} lines, up to {most}: latencies hold "
        "waiting, and more clients would not help."
    )
    evidence: dict[str, JSON] = {
        "lines": len(lines),
        "lines_waiting": len(waiting),
        "waiting_max": most,
    }
    return Finding("queueing", text, evidence)
