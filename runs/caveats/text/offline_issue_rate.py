"""An offline tool knows no clients."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

_OFFLINE = (
    "trtllm-bench",
    "sglang.bench_offline_throughput",
    "sglang.bench_one_batch",
    "vllm.bench_throughput",
    "vllm.bench_latency",
)


def find(paste: Paste) -> Finding | None:
    """Fire for tools that hand all requests to the engine without HTTP."""
    for row in paste.rows:
        if row.tool in _OFFLINE:
            text = (
                f"{row.tool} hands its requests to the engine itself: there are no clients, so its "
                "latencies and concurrency are not those of a server."
            )
            return Finding("offline-issue-rate", text, {"tool": row.tool})
    return None
