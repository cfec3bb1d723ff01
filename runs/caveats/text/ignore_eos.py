"""Text forced past its natural end repeats itself."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when the output length was forced, by a setting or by the default of a tool."""
    if paste.context.get("ignore_eos") is True:
        return _finding("the text says so")
    if paste.context.get("ignore_eos") is False:
        return None
    for row in paste.rows:
        if paste.setting(row, "ignore_eos") is True:
            return _finding(f"{row.tool} forces it unless told otherwise")
    if not paste.rows and paste.default("ignore_eos") is True:
        return _finding("the client's command forces it unless told otherwise")
    return None


def _finding(why: str) -> Finding:
    text = (
        f"ignore_eos ({why}): the output is forced past its natural end, where it tends to repeat "
        "itself and is easy to guess."
    )
    return Finding("ignore-eos", text, {"ignore_eos": True})
