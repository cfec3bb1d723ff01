"""What carries a line: here the short form of the journal. Each is taken off before reading."""

import re
from dataclasses import dataclass

# 'Mar 09 16:03:25 llm-two sglang-qwen[15503]: message', with or without microseconds.
_JOURNAL = re.compile(
    rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 0-9][0-9] "
    rb"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})? "
    rb"([A-Za-z0-9._-]{1,255}) ([^\s\[\]:]{1,100})(?:\[([0-9]{1,10})\])?: "
)


@dataclass(frozen=True, slots=True)
class Carried:
    """A line without its carrier; `host`, `ident`, `pid` are the journal's, None in plain text."""

    message: bytes
    host: str | None
    ident: str | None
    pid: int | None


def unwrap(raw: bytes) -> Carried:
    """Take the journal's prefix off, if there is one."""
    match = _JOURNAL.match(raw)
    if match is None:
        return Carried(raw, None, None, None)
    host, ident, pid = match.groups()
    text = raw[match.end() :]
    return Carried(text, host.decode("ascii"), ident.decode("utf-8", "replace"), int(pid or 0))
