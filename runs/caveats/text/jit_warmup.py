"""Kernels were compiled while requests were measured."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on a compilation after the first sample."""
    if not paste.samples:
        return None
    first = paste.samples[0].line
    compiled = [each for each in paste.events if each.kind == "jit_compile" and each.line > first]
    if not compiled:
        return None
    text = "Kernels were compiled while requests ran: what was measured then is mostly compilation."
    return Finding("jit-warmup", text, {"times": len(compiled), "line": compiled[0].line})
