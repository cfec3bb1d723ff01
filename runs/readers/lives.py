"""The lives of the servers in a text, and which of them each sample belongs to.

A life begins where a service manager starts the unit, where the server dumps its arguments, where
the process number changes, where a person writes a heading or a launch command between samples,
or where the results of one client run end. A server that could not start (its port was taken)
serves nobody: what is printed after it is still the old one's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs.engines.base import JSON, Event, Sample
from runs.engines.redact import redact_text
from runs.readers.carriers import Origin
from runs.readers.context import flag_settings, launch_flags, server_settings
from runs.readers.flagwords import loose_flags
from runs.readers.words import shell_words

# '# run 2', '## steps=3', '=== baseline ===', '--- B ---'.
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s{1,4}|={2,8}\s{1,4}|-{2,8}\s{1,4})([^\s=\-#].{0,300})")
# 'baseline:', '关闭投机:', '**steps=3**', '【基线】': a few words on a line of their own.
_WORDS = re.compile(
    r"\s{0,3}(?:\*\*(?P<bold>[^*\[\]{}]{1,80})\*\*[:\uff1a]?|\u3010(?P<cornered>[^\u3010\u3011]{1,60})\u3011"
    r"|(?P<plain>[^\W_][^\[\]{}\"'|]{0,60})[:\uff1a])\s*\Z"
)
_NO_HEADING = re.compile(r"(?i)traceback|exception|error|warning|fail|call last|stack|thread")
_DEAD = ("crash", "port_in_use")
_STOPPED = ("service_stopping", "service_stopped", "service_exited", "server_stopped")


@dataclass(slots=True)
class Life:
    """One life of one server, or one part of a log that a person set apart.

    `served`: it said that it is ready, or it printed samples. `settings` are its own arguments.
    """

    stream: tuple[str | None, str | None]
    number: int
    pid: int | None
    begun: str | None  # the moment of its start, as printed by whoever said it
    ready: str | None
    settings: dict[str, JSON]
    label: str | None
    line: int
    real: bool  # a new process, not merely a heading
    failed: bool = False
    stopped: bool = False
    armed: bool = False  # its arguments were dumped
    samples: list[int] = field(default_factory=list)

    @property
    def served(self) -> bool:
        return bool(self.samples) or self.ready is not None


@dataclass(slots=True)
class _Stream:
    lives: list[Life]
    heading: str | None = None


class Lives:
    """Follows all writers of a text; everything is told to it in the order of the lines."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str | None, str | None], _Stream] = {}
        self._manager: dict[str | None, Event] = {}
        self.blocks: list[tuple[str | None, int]] = []
        self._ended: dict[str | None, int] = {}  # the newest of them
        self._samples = 0
        self._last: dict[str | None, int] = {}
        self.late: set[int] = set()

    def heading(self, text: str, origin: Origin) -> None:
        """Take a line that may set the next samples apart."""
        match = _HEADING.match(text)
        words = match[1].rstrip(" =-#") if match else _launch(text) or _few_words(text)
        if words:
            self._stream(origin).heading = redact_text(words)

    def results(self, source: str | None, line: int) -> None:
        """Take the end of a block of results: the client's run is over."""
        self.blocks.append((source, line))
        self._ended[source] = line

    def event(self, event: Event, origin: Origin) -> None:
        """Take an event of the server or of its manager."""
        if event.kind.startswith("service_"):
            self._managed(event, origin)
            return
        stream = self._stream(origin)
        life = stream.lives[-1]
        if event.kind == "server_args":
            if life.armed or life.samples or life.ready or life.stopped or life.failed:
                life = self._begin(stream, origin, event.time, event.line, real=True)
            life.armed = True
            life.pid = life.pid or origin.pid
            life.begun = life.begun or event.time
            life.settings |= server_settings(event)
        elif event.kind == "server_ready":
            life.ready = life.ready or event.time
            life.pid = life.pid or origin.pid
        elif event.kind in _DEAD:
            if event.data.get("slug") != "out-of-memory" or not life.samples:
                life.failed = True
        elif event.kind == "capacity":
            life.settings |= server_settings(event)

    def _managed(self, event: Event, origin: Origin) -> None:
        """systemd speaks of the unit's server, which prints under another name on the same host."""
        streams = [each for key, each in self._streams.items() if key[0] == origin.source]
        if event.kind == "service_started":
            self._manager[origin.source] = event
            for stream in streams:
                last = stream.lives[-1]
                if last.samples or last.ready or last.armed:
                    self._begin(
                        stream, origin._replace(pid=None), event.time, event.line, real=True
                    )
                else:
                    last.begun = event.time
        elif event.kind in _STOPPED:
            for stream in streams:
                stream.lives[-1].stopped = True

    def sample(self, sample: Sample, origin: Origin, line: int) -> Life:
        """Take a sample and give the life it belongs to."""
        stream = self._stream(origin)
        life = stream.lives[-1]
        if origin.pid is not None and life.pid not in (None, origin.pid) and life.samples:
            life = _beside(stream, origin.pid) or self._begin(stream, origin, None, line, real=True)
        elif self._set_apart(stream, life, origin, line):
            life = self._begin(stream, origin, None, line, real=False)
        if stream.heading is not None:
            life.label = stream.heading[:2000]
            life.settings = {**_heading_settings(stream.heading), **life.settings}
            stream.heading = None
        if life.failed and not life.samples and life.ready is None:
            alive = [each for each in stream.lives if each.served and not each.stopped]
            if alive:
                self.late.add(self._samples)
                life = alive[-1]
        life.pid = life.pid or origin.pid
        life.samples.append(self._samples)
        self._samples += 1
        self._last[origin.source] = line
        return life

    def _set_apart(self, stream: _Stream, life: Life, origin: Origin, line: int) -> bool:
        if not life.samples or life.failed:
            return False
        last = self._last.get(origin.source, 0)
        return stream.heading is not None or last < self._ended.get(origin.source, 0) < line

    def _stream(self, origin: Origin) -> _Stream:
        found = self._streams.get(origin.stream)
        if found is None:
            found = self._streams[origin.stream] = _Stream([])
            started = self._manager.get(origin.source)
            begun = started.time if started else None
            self._begin(found, origin, begun, started.line if started else 1, real=True)
        return found

    def _begin(
        self, stream: _Stream, origin: Origin, begun: str | None, line: int, *, real: bool
    ) -> Life:
        before = stream.lives[-1] if stream.lives else None
        life = Life(
            stream=origin.stream if before is None else before.stream,
            number=len(stream.lives),
            pid=origin.pid,
            begun=begun,
            ready=None,
            settings={},
            label=None,
            line=line,
            real=real,
        )
        stream.lives.append(life)
        return life

    def all(self) -> list[Life]:
        """Give every life that says something, stream by stream."""
        found = [life for stream in self._streams.values() for life in stream.lives]
        return [life for life in found if life.samples or life.settings or life.ready]

    @property
    def several(self) -> bool:
        """Tell whether some server has more than one life here."""
        return any(
            sum(1 for life in stream.lives if life.samples or life.settings or life.ready) > 1
            for stream in self._streams.values()
        )


def _beside(stream: _Stream, pid: int) -> Life | None:
    """Give the life of a process that prints again after another one: both run at once.

    Without a word of the other's start that is no restart.
    """
    found = next((each for each in stream.lives if each.pid == pid and each.samples), None)
    if found is None or found.stopped or found.failed:
        return None
    for each in stream.lives[stream.lives.index(found) + 1 :]:
        each.real = each.real and (each.armed or each.ready is not None or each.begun is not None)
    return found


def _few_words(text: str) -> str | None:
    match = _WORDS.match(text)
    if match is None or _NO_HEADING.search(text) or len(text.split()) > 8:
        return None
    return (match["bold"] or match["cornered"] or match["plain"]).strip()


def _launch(text: str) -> str | None:
    """Give a launch command as the heading of what comes after it."""
    known = " -" in text and launch_flags(text) is not None
    return text.strip()[:2000] if known else None


def _heading_settings(words: str) -> Mapping[str, JSON]:
    """Read the flags that stand in a heading."""
    start = words.find("--")
    flags = loose_flags(shell_words(words[start:])) if start >= 0 else None
    return flag_settings(flags) if flags else {}
