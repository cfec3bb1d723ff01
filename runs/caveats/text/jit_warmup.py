"""Kernels were compiled while requests were measured."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on a compilation that is no part of a start-up: no server became ready after it."""
    ready = max((each.line for each in paste.events if each.kind == "server_ready"), default=0)
    compiled = [each for each in paste.events if each.kind == "jit_compile" and each.line > ready]
    missed = [each for each in paste.samples if each.extras.get("#cache_miss")]
    if not paste.samples or not (compiled or missed):
        return None
    line = (compiled[0] if compiled else missed[0]).line
    text = (
        "Kernels were compiled when the server was up already: what was measured then is mostly "
        "compilation."
    )
    return Finding("jit-warmup", text, {"times": len(compiled) or len(missed), "line": line})
