"""Runs that are compared generated different amounts of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON

if TYPE_CHECKING:
    from runs.readers.results.base import ResultRow

MAX_SHARE = 0.05


def find(paste: Paste) -> Finding | None:
    """Fire when rows at one concurrency, asked for the same, differ by more than a twentieth."""
    lengths: dict[tuple[int, str], list[float]] = {}
    for row in paste.rows:
        length = _length(row)
        if length is not None and row.concurrency is not None:
            asked = str(row.context.get("output_len"))
            lengths.setdefault((row.concurrency, asked), []).append(length)
    for (concurrency, _), found in lengths.items():
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


def _length(row: ResultRow) -> float | None:
    """Give the tokens generated a request; None where it is not told, or nothing was generated."""
    tokens, completed = row.value("output_tokens"), row.value("completed")
    if tokens and completed:
        return tokens / completed
    return row.value("output_len_mean") or None
