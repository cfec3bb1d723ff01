"""The dump of resolved arguments that a server prints when it starts: a Python repr, not JSON."""

import ast
import math
import re

from runs.engines.base import JSON
from runs.engines.redact import redact_text

_DUMP = re.compile(r"server_args=(?:ServerArgs)?(?=[({])")
# Used when a value is no literal, such as <Backend.FULL: 1>.
_ONE = re.compile(
    r"\b([a-z_][a-z0-9_]{0,80})'?(?:=|: )('(?:[^'\\]|\\.){0,4000}'|[^,(){}\[\]]{1,200})"
)


def read_server_args(text: str) -> dict[str, JSON] | None:
    """Give {"server_args": {...}} with secrets masked, {} of a cut dump, or None: no dump."""
    match = _DUMP.search(text)
    end = max(text.rfind(")"), text.rfind("}"))
    if match is None or end <= match.end():
        return {} if re.search(r"server_args=(?:ServerArgs\(|\{)", text) else None
    dump = redact_text(text[match.end() : end + 1])
    return {"server_args": _whole(dump) or _piecewise(dump)}


def _whole(dump: str) -> dict[str, JSON]:
    source = f"dict{dump}" if dump.startswith("(") else dump
    try:
        tree = ast.parse(source, mode="eval").body
        if isinstance(tree, ast.Call):
            pairs = [(key.arg, ast.literal_eval(key.value)) for key in tree.keywords]
        else:
            pairs = list(ast.literal_eval(tree).items())
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        return {}
    return {str(key): plain(value) for key, value in pairs}


def _piecewise(dump: str) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for key, value in _ONE.findall(dump):
        try:
            found.setdefault(key, plain(ast.literal_eval(value)))
        except (SyntaxError, ValueError):
            found.setdefault(key, value.strip())
    return found


def plain(value: object) -> JSON:
    """Make it something JSON can hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value)
