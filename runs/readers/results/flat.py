"""Flat records with keys such as 'p99_ttft_ms', as bench_serving and vllm bench serve write."""

import re
from collections.abc import Mapping

from runs.engines.base import JSON
from runs.readers.results.names import stat
from runs.readers.results.rows import RowBuilder
from runs.readers.results.safe import items

_TIMED = re.compile(
    r"(mean|median|std|min|max|p[0-9]{1,2}(?:\.[0-9]{1,3})?)_"
    r"(ttft|tpot|itl|e2el|e2e_latency|e2e)_(ms|s|us)\Z"
)
_FAMILIES = {"e2el": "e2e", "e2e_latency": "e2e"}
# Arrays with one entry a request or chunk: the raw file keeps them.
_PER_REQUEST = [
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "start_times",
    "generated_texts",
    "errors",
    "latencies",
    "queue_times",
    "cached_tokens",
    "server_queue_times",
    "server_ttfts",
]


def put_flat(
    builder: RowBuilder,
    record: Mapping[str, JSON],
    scalars: Mapping[str, tuple[str, str]],
    settings: Mapping[str, str],
) -> None:
    """Put each key of a record where it belongs; `scalars` and `settings` are the tool's words."""
    for name, value in record.items():
        timed = _TIMED.match(name)
        if timed:
            family = _FAMILIES.get(timed[2], timed[2])
            builder.put(f"{family}_{stat(timed[1])}", value, name, timed[3])
        elif name in scalars:
            builder.put(scalars[name][0], value, name, scalars[name][1])
        elif name in _PER_REQUEST:
            builder.keep(f"{name}_count", len(items(value)))
        elif name not in settings:
            builder.keep(name, value)
