"""The same lines or results stand twice in a text: a copy is no second measurement."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, measured_once
from runs.metrics.copies import once


def find(paste: Paste) -> Finding | None:
    """Fire on lines that agree in all they say, stamp included, and on results that do."""
    lines = len(paste.samples) - len(once(paste.samples))
    rows = len(paste.rows) - len(measured_once(paste.rows))
    if not lines and not rows:
        return None
    what = " and ".join(
        f"{count:,} {word}{'' if count == 1 else 's'}"
        for count, word in ((lines, "line"), (rows, "result"))
        if count
    )
    text = (
        f"{what} of this text stood in it before, equal in every figure: pasted twice, or printed "
        "twice. A copy is shown, is no repeat of a measurement, and lines count once in the means."
    )
    return Finding("repeated-lines", text, {"lines": lines, "results": rows})
