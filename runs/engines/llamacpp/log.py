"""llama.cpp's server: the timings of each request, printed over several lines.

New servers begin each line with the time since their start and name slot and task; older ones put
slot and task into a line of their own, or print `llama_print_timings:` without either.
"""

import re

from runs.engines.base import JSON, Event, Request

HINTS = (
    "eval time =",
    "print_timing",
    "total time =",
    "draft acceptance",
    "graphs reused =",
    "server is listening on",
    "all slots are idle",
    "model loaded",
)
_UPTIME = re.compile(r"(?<![0-9.])([0-9]{1,6})\.([0-9]{2})\.([0-9]{3})\.([0-9]{3}) [A-Z] ")
_TASK = re.compile(r"id\s{1,4}([0-9]{1,6}) \| task\s{1,4}(-?[0-9]{1,12}) \|")
_N = r"([0-9]{1,15}(?:\.[0-9]{1,6})?)"
_PER = rf"(?:\s*\(\s*{_N} ms per token,\s*{_N} tokens per second\))?"
_PROMPT = re.compile(rf"prompt eval time\s*=\s*{_N} ms /\s*([0-9]{{1,12}}) tokens{_PER}")
_DECODE = re.compile(
    rf"(?<!prompt )eval time\s*=\s*{_N} ms /\s*([0-9]{{1,12}}) (?:tokens|runs){_PER}"
)
_TOTAL = re.compile(rf"total time\s*=\s*{_N} ms /\s*([0-9]{{1,12}}) tokens")
_DRAFT = re.compile(
    r"draft acceptance(?: rate)?\s*=\s*([0-9]\.[0-9]{1,6}) "
    r"\(\s*([0-9]{1,12}) accepted /\s*([0-9]{1,12}) generated\)"
)
_LENGTH = re.compile(r"mean acceptance length\s*=\s*([0-9]{1,4}\.[0-9]{2})")
_POSITIONS = re.compile(r"acceptance rate per position\s*=\s*\(([0-9., ]{1,1000})\)")
_GRAPHS = re.compile(r"graphs reused\s*=\s*([0-9]{1,12})(?=\s|\Z)")
_READY = "server is listening on"


class TimingReader:
    """Gathers the lines of one request; `take` gives the request that the line before ended."""

    def __init__(self) -> None:
        self._values: dict[str, JSON] = {}
        self._time: str | None = None
        self._where = (0, 0)
        self._task: tuple[int, int] | None = None

    def take(self, text: str, offset: int, line: int, terminated: bool) -> list[Request] | None:
        """Read a line; None when it is no line of timings."""
        task = _TASK.search(text)
        found = _values(text, terminated)
        if not found:
            if task and "print_timing" in text:
                return self._begin((int(task[1]), int(task[2])), text, offset, line)
            return None
        here = (int(task[1]), int(task[2])) if task else self._task
        done: list[Request] = []
        # The prompt's line comes first; a second one of anything belongs to the next request.
        if here != self._task or any(key in self._values for key in found):
            done = self._begin(here, text, offset, line)
        elif not self._values:
            self._where, self._time = (offset, line), self._time or uptime(text)
        self._values |= found
        return done

    def finish(self) -> list[Request]:
        """Give the last request."""
        return self._end()

    def _begin(
        self, task: tuple[int, int] | None, text: str, offset: int, line: int
    ) -> list[Request]:
        done = self._end()
        self._task, self._where, self._time = task, (offset, line), uptime(text)
        return done

    def _end(self) -> list[Request]:
        if not self._values:
            return []
        named: dict[str, JSON] = {}
        if self._task is not None:
            named = {"slot": self._task[0], "task": self._task[1]}
        done = Request(self._time, {**named, **self._values}, *self._where)
        self._values, self._task = {}, None
        return [done]


def read_whole(text: str, offset: int, line: int) -> list[Request]:
    """Read one line of timings alone; nothing when it was cut: its brackets and rates are whole."""
    if not any(words in text for words in ("time =", "draft acceptance", "graphs reused =")):
        return []
    found = _values(text, terminated=True)
    if not found or text.count("(") != text.count(")"):
        return []
    speeds = [_PROMPT.search(text), _DECODE.search(text)]
    if any(match and match[4] is None for match in speeds):
        return []
    return [Request(uptime(text), found, offset, line)]


def _values(text: str, terminated: bool) -> dict[str, JSON]:
    """Read what one line says; every value has its unit or bracket behind it."""
    found: dict[str, JSON] = {}
    for pattern, names in _TABLE:
        match = pattern.search(text)
        if match:
            pairs = zip(names, match.groups(), strict=True)
            found |= {name: _number(value) for name, value in pairs if name and value is not None}
    positions = _POSITIONS.search(text)
    if positions:
        found["per_position"] = [
            float(each) for each in re.findall(r"[0-9]\.[0-9]{1,6}", positions[1])
        ]
    graphs = _GRAPHS.search(text)
    if graphs and (terminated or graphs.end() < len(text)):
        found["graphs_reused"] = int(graphs[1])
    length = _LENGTH.search(text)
    if length and (terminated or length.end() < len(text)):
        found["accept_len"] = float(length[1])
    return found


_TABLE: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_PROMPT, ("prompt_ms", "prompt_tokens", "", "prompt_tok_per_s")),
    (_DECODE, ("decode_ms", "output_tokens", "", "decode_tok_per_s")),
    (_TOTAL, ("total_ms", "total_tokens")),
    (_DRAFT, ("accept_rate", "accepted_tokens", "drafted_tokens")),
)


def read_event(text: str, offset: int, line: int) -> Event | None:
    """The server says that it listens once its model is loaded."""
    if _READY not in text:
        return None
    return Event("server_ready", uptime(text), text, {}, offset, line)


def uptime(text: str) -> str | None:
    """'0.44.902.771' is 44.902771 s since the process began: '+00:00:44.902'."""
    match = _UPTIME.search(text)
    if match is None:
        return None
    hours, minutes = divmod(int(match[1]), 60)
    return f"+{hours:02}:{minutes:02}:{match[2]}.{match[3]}"


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
