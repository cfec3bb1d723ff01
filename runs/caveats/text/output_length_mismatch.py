"""Runs that are compared generated different amounts of text."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON

MAX_SHARE = 0.05


def find(paste: Paste) -> Finding | None:
    """Fire when rows at one concurrency differ by more than a twentieth in output length."""
    lengths: dict[int, list[float]] = {}
    for row in paste.rows:
        tokens, completed = row.value("output_tokens"), row.value("completed")
        asked = row.context.get("output_len")
        if tokens and completed and row.concurrency is not None and asked is None:
            lengths.setdefault(row.concurrency, []).append(tokens / completed)
    for concurrency, found in lengths.items():
        if max(found) > (1 + MAX_SHARE) * min(found):
            text = (
                f"At concurrency {concurrency} the runs generated {min(found):.0f} to "
                f"{max(found):.0f} "
                "tokens a request: shorter answers are not faster ones."
            )
            evidence: dict[str, JSON] = {
                "concurrency": concurrency,
                "lengths": [*map(round, found)],
            }
            return Finding("output-length-mismatch", text, evidence)
    return None
