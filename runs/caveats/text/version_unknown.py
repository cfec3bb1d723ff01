"""The release is not told, and what was printed depends on it."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.metrics.acceptance import definition_of


def find(paste: Paste) -> Finding | None:
    """Fire when an accept rate stands here whose definition neither release nor settings tell."""
    if paste.context.get("engine_version"):
        return None
    for pairs, settings in paste.rate_pairs():
        if definition_of(pairs, settings) in (None, "ambiguous", "unknown"):
            text = (
                "The engine's release is not told: which of its three definitions the accept rate "
                "follows cannot be known. Compare accept len."
            )
            return Finding("version-unknown", text, {"lines": len(pairs)})
    return None
