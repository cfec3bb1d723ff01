"""The samples are not of the server that was started last."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when samples follow a start that failed, so that an older server printed them."""
    if not paste.late:
        return None
    text = (
        f"{paste.late} decode lines follow the start of a server that never served: they are an "
        "older "
        "server's, which still answers. Ask the server for its arguments before each run."
    )
    return Finding("wrong-server", text, {"samples": paste.late})
