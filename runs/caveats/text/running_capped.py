"""The server may run fewer requests than the client offered."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire when the effective limit is below an offered concurrency."""
    for row in paste.rows:
        limit = real(
            row.context.get("max_running_requests", paste.context.get("max_running_requests"))
        )
        if limit is not None and row.concurrency is not None and row.concurrency > limit:
            text = (
                f"The server runs at most {limit:.0f} requests and {row.concurrency} were "
                "offered: the "
                "queue is measured along with the engine."
            )
            evidence: dict[str, JSON] = {
                "max_running_requests": int(limit),
                "levels": [row.concurrency],
            }
            return Finding("running-capped", text, evidence)
    return None
