"""The heads of vLLM's log lines, of every version, wherever in a line they stand."""

import re
from typing import NamedTuple

# 'INFO 08-26 20:35:27 metrics.py:351] ' (V0) and 'INFO 05-09 20:35:27 [loggers.py:111] ' (V1).
HEAD = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<date>[0-9]{2}-[0-9]{2}) "
    r"(?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2}) \[?(?P<file>[\w./-]{1,120}):(?P<line>[0-9]{1,6})\] ?"
)
# '(APIServer pid=118) ' at the end of what stands before a head.
_PROCESS = re.compile(
    r"\((?P<name>[A-Za-z][\w ]{0,60}?(?: rank=[0-9]{1,5})?) pid=(?P<pid>[0-9]{1,10})\) ?\Z"
)
_PROCESS_START = re.compile(
    r"\s{0,4}\((?P<name>[A-Za-z][\w ]{0,60}?(?: rank=[0-9]{1,5})?) pid=(?P<pid>[0-9]{1,10})\) ?"
)
# Processes of vLLM's own, before lines of others that they pass on.
OWN_PROCESS = re.compile(
    r"\s{0,4}\((?:APIServer|ApiServer|EngineCore|VllmWorker|Worker|RustFrontend)\w{0,40}"
    r"(?: rank=[0-9]{1,5})? pid=[0-9]{1,10}\) ?"
)


class Piece(NamedTuple):
    """One record's text and its head; `time` is 'MM-DDTHH:MM:SS', None when no head is there."""

    text: str
    time: str | None
    level: str | None
    process: str | None
    pid: int | None
    begin: int
    last: bool


def pieces(text: str) -> list[Piece]:
    """Split a line at its heads: a lost line end glues two records together."""
    heads = list(HEAD.finditer(text))
    if not heads:
        start = _PROCESS_START.match(text)
        body = text[start.end() :] if start else text
        name, pid = (start["name"], int(start["pid"])) if start else (None, None)
        return [Piece(body, None, None, name, pid, 0, True)]
    found: list[Piece] = []
    for index, head in enumerate(heads):
        last = index + 1 == len(heads)
        end = len(text) if last else heads[index + 1].start()
        body = text[head.end() : end]
        if not last:
            body = _PROCESS.sub("", body)
        before = _PROCESS.search(text, max(0, head.start() - 120), head.start())
        found.append(
            Piece(
                body,
                f"{head['date']}T{head['clock']}",
                head["level"],
                before["name"] if before else None,
                int(before["pid"]) if before else None,
                0 if index == 0 else (before.start() if before else head.start()),
                last,
            )
        )
    return found
