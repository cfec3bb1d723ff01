"""#transfer-req also counts requests that wait for their prefill."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire when a decode node prints such requests."""
    queued = [real(each.extras.get("transfer_req")) or 0 for each in paste.decodes]
    if not queued or not max(queued):
        return None
    text = (
        f"#transfer-req goes up to {max(queued):.0f}: it also counts requests that still wait for "
        "the "
        "prefill node. Look there before blaming the network."
    )
    return Finding("transfer-queue-misread", text, {"transfer_req_max": int(max(queued))})
