"""Several ranks print one and the same batch."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, dp_rank


def find(paste: Paste) -> Finding | None:
    """Fire when ranks that share their DP group repeat a line."""
    seen: dict[tuple[object, ...], str | None] = {}
    doubles = 0
    for sample in paste.decodes:
        key = (
            sample.time,
            dp_rank(sample),
            sample.running,
            sample.tokens,
            sample.extras.get("source"),
        )
        other = seen.setdefault(key, sample.rank)
        doubles += other != sample.rank and sample.tokens is not None
    if not doubles:
        return None
    text = (
        f"{doubles} decode lines repeat a batch that another rank of the same group printed: they "
        "are "
        "shown, and counted once."
    )
    return Finding("duplicate-rank-lines", text, {"lines": doubles})
