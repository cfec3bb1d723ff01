"""A command that a terminal folded over several lines, put together again.

Of a record the engine's form tells whether the parts belong together; of a command it is told by
what is missing: a quote or a bracket is open, a flag waits for its value, more flags follow.
"""

import re
from itertools import pairwise

from runs.readers.stream import Other
from runs.readers.wrapped import begins_own

_MIN_WIDTH = 40
_MAX_WIDTH = 1000
_MAX_PARTS = 40
# What makes a line worth holding: a program's name, flags, the settings a client prints.
_SIGNS = (b" --", b"Namespace(", b"curl ", b" bench", b"launch_server")
_PROMPT = re.compile(
    rb"(?:\([\w.-]{1,60}\) )?(?:[^\s'\"]{0,80}[$#%>] |curl |python|vllm |sglang |docker )"
)
# In the rest of a command: a flag at a word's start. A colon and a blank speak of prose.
_FLAG = re.compile(rb"(?:(?:\A|[ '\"}\]])\s?--?|\w--|\w\s-)[A-Za-z][A-Za-z0-9-]{0,60}(?=[ =]|\Z)")
# A setting or section of a unit, a row that ps or pgrep prints: nothing's rest.
_OF_ITS_OWN = re.compile(
    rb"\[[A-Z][A-Za-z]{2,30}\]\s*\Z|[A-Z][a-z]{1,20}[A-Za-z]{0,30}="
    rb"|\s{0,8}[\w+.-]{1,32} {1,12}[0-9]{1,8} {1,12}[0-9.]{1,8} {1,12}[0-9.]{1,8} "
    rb"|(?:curl|docker|podman) |\s{0,8}[0-9]{2,8} \S{0,200}(?:python|vllm|sglang|llama)"
)
_FLAG_LINE = re.compile(rb"\s{0,24}--[a-z][a-z0-9-]{1,60}(?=[ =]|\Z)")
_PROGRAMS = (b"launch_server", b"vllm serve", b"sglang serve", b"bench_serving", b"bench serve")
_PROSE = re.compile(rb": |\busage\b|\A[A-Z][a-z]+ [a-z]+ ")
# Such a line says itself that it goes on: see `script`.
_GOES_ON = re.compile(rb"\\\Z|\s[`^]\s{0,8}\Z|\s\\\s{1,40}(?:#[^\n]{0,300})?\Z")
_QUOTED = re.compile(rb"'[^']*'|\"(?:[^\"\\]|\\.)*\"")


class Folded:
    """Holds a line that may be the beginning of a command until it is known how far it goes."""

    def __init__(self) -> None:
        self._parts: list[Other] = []

    def push(self, line: Other) -> list[tuple[Other, int]]:
        """Take the next line; give those that are settled, each with the lines it was made of."""
        if self._parts and self._goes_on(line):
            self._parts.append(line)
            return []
        settled = self.flush()
        if _may_go_on(line.text):
            self._parts = [line]
            return settled
        return [*settled, (line, 1)]

    def flush(self) -> list[tuple[Other, int]]:
        """Give what is held: no more of it will come."""
        if not self._parts:
            return []
        parts, self._parts = self._parts, []
        whole = parts[0]._replace(
            text=_joined([each.text for each in parts]), terminated=parts[-1].terminated
        )
        return [(whole, len(parts))]

    def _goes_on(self, line: Other) -> bool:
        texts = [each.text for each in self._parts]
        last, text = self._parts[-1], line.text
        width = max(map(len, texts))
        fits = len(text) <= width + 1 and all(len(each) >= width - 1 for each in texts)
        if line.line != last.line + 1 or line.origin != last.origin:
            return False
        if _FLAG_LINE.match(text) and any(sign in texts[0] for sign in _PROGRAMS):
            return len(texts) < _MAX_PARTS  # laid out by hand, as in a compose file
        if not fits:
            return False
        if begins_own(text) or _OF_ITS_OWN.match(text) or len(texts) >= _MAX_PARTS:
            return False
        if b"%|" in text or text[:1] in b"{|+":
            return False
        so_far = _joined(texts)
        if _is_open(so_far):
            return True
        if _PROSE.search(text):
            return False
        return len(texts) > 1 or _FLAG.search(text) is not None or _lacks_value(so_far, text)


def _may_go_on(text: bytes) -> bool:
    if not _MIN_WIDTH <= len(text) <= _MAX_WIDTH or _GOES_ON.search(text):
        return False
    if text.endswith((b";", b" &")):
        return False
    return any(sign in text for sign in _SIGNS) or _PROMPT.match(text) is not None


def _is_open(text: bytes) -> bool:
    """Tell whether a command stops inside of its quotes, or a Namespace before its bracket."""
    start = text.find(b"Namespace(")
    if start >= 0:
        return text.count(b"(", start) > text.count(b")", start)
    if _PROMPT.match(text) is None:
        return False
    bare = _QUOTED.sub(b"", text)
    return b"'" in bare or b'"' in bare


def _lacks_value(before: bytes, text: bytes) -> bool:
    """Tell whether the last word before the fold is a flag, whole or cut, and a value follows."""
    words = before.split(b" ")
    return words[-1].startswith(b"--") and len(text.split()) <= 2


def _joined(parts: list[bytes]) -> bytes:
    """A fold adds nothing; a copy can lose the blank that stood at it."""
    width = max(map(len, parts))
    whole = parts[0]
    for before, part in pairwise(parts):
        blank = len(before) < width or part[:2] == b"--"
        whole += (b" " if blank else b"") + part
    return whole
