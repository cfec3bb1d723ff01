"""The server was started again between the samples."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when two lives of one server gave samples."""
    lives: dict[object, int] = {}
    for part in paste.parts:
        if part.real and part.samples:
            lives[part.stream] = lives.get(part.stream, 0) + 1
    most = max(lives.values(), default=0)
    if most < 2:
        return None
    text = f"The samples are of {most} lives of the server: nothing is averaged across a restart."
    return Finding("restart-in-window", text, {"lives": most})
