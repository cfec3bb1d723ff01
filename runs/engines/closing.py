"""Where a record ends behind which somebody closed a quotation: a fence, a tag, a cell, a box.

No engine prints these signs in a record, so that one of them ends its last value as a newline does.
"""

import re

_CLOSING = re.compile(
    r"`|\*{1,3}(?=\s|\Z)"  # code, in the line or fenced, and bold type
    r"|</?[a-z][a-z0-9]{0,9}(?:\s[^<>]{0,200})?/?>|\{(?:noformat|code)\}"
    r"|[│┃║”»]|\s\|(?=\s|\Z)"  # the edge of a box or of a table's cell
    # The quotation mark of a JSON document, in one line or several, or of a cell.
    r"|(?:\\[nr]){0,4}[\"'](?:[,;\t\]}]|[\"', ]{0,16}\Z| [a-z_]{1,40}=)"
    r"|(?:\\[nr]){1,4}\Z"
)
_ANY = re.compile(r"[`*<{|│┃║”»\"'\\]")


def until_closing(text: str) -> tuple[str, bool]:
    """Give the text up to the first such sign, and whether there is one."""
    if _ANY.search(text) is None:
        return text, False  # nearly every record
    found = _CLOSING.search(text)
    return (text, False) if found is None else (text[: found.start()], True)
