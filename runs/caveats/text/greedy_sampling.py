"""Temperature 0 makes text easy to guess, so it flatters speculation."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire at temperature 0 in the text, or by the default of a tool that is not overruled."""
    if real(paste.context.get("temperature")) == 0:
        return _finding("the text says so")
    if paste.context.get("temperature") is not None:
        return None
    for row in paste.rows:
        if real(paste.setting(row, "temperature")) == 0:
            return _finding(f"{row.tool} sends it unless told otherwise")
    if not paste.rows and real(paste.default("temperature")) == 0:
        return _finding("the client's command sends it unless told otherwise")
    return None


def _finding(why: str) -> Finding:
    text = (
        f"Temperature 0 ({why}): greedy text is easy to guess, so acceptance and speed are higher "
        "than "
        "sampled requests will see."
    )
    return Finding("greedy-sampling", text, {"temperature": 0})
