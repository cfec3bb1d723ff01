"""A whole text: logs, results, commands and remarks, joined into one reading.

The lines go through once. What an engine printed becomes records; all other lines go to the reader
of results, to the settings, and to the headings that set parts of a log apart.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from runs.caveats.text.paste import Paste
from runs.caveats.text.registry import find_in_text
from runs.engines.base import JSON, Damaged, Event, Record, Request, Sample
from runs.engines.sglang.log import decoded
from runs.metrics.acceptance import level_accept_len, strict_rate
from runs.readers.carriers import PLAIN, Origin
from runs.readers.carriers.signs import last_state
from runs.readers.context import FLAG_SETTINGS, opens_request, told_settings, typed_settings
from runs.readers.derive import derived
from runs.readers.derive_text import derived_of_text
from runs.readers.folded import Folded
from runs.readers.lives import Life, Lives
from runs.readers.loops import looping
from runs.readers.manifests import Launch, Manifest
from runs.readers.reading import Kind, Reading, Segment, short_rows
from runs.readers.results.base import ResultReading, ResultRow
from runs.readers.results.text import TextResults
from runs.readers.script import Script
from runs.readers.segments import moment, part, segment
from runs.readers.stream import CHUNK, Other, TextReader, Told

# A rule that ends a block of results.
_RULE = re.compile(r"\s{0,4}={30,200}\s*\Z")
# What a server writes of a request: most lines of many logs, and never a setting or a result.
_ACCESS = re.compile(
    rb"\"(?:GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH) [^\"]{1,2000} HTTP/1\.[01]\" [0-9]{3}"
)
_ELISION = re.compile(
    r"\s{0,8}(?:\[?(?:\.{3,12}|…{1,4}|(?:\. ){2,6}\.)\]?|\[\s?snip\s?\]|<snip>|\(\.{3}\))\s*\Z"
)
_BODY_FLAG = re.compile(r"\s(?:-d|--data(?:-raw|-binary)?|--json) ?\Z")
_CURL = re.compile(r"\bcurl\b")
_BODY_REACH = 2000  # characters between curl and its body
_BODY_LINES = 100
_BODY_LIMIT = 20_000
_LAST_WORD = re.compile(r"\S{1,20000}\Z")
_MANY_OFFSETS = 2000
_ENGINE_KINDS: dict[str, Kind] = {
    "sglang": "sglang-log",
    "vllm": "vllm-log",
    "llamacpp": "llamacpp-log",
    "trtllm": "trtllm-log",
}
# These are printed by one engine only; a traceback's line alone makes no log of it.
_TELLING = ("server_args", "server_ready", "capacity", "retraction", "startup_timings", "crash")


def read_paste(data: bytes, name: str) -> Reading:
    """Read a text that may hold anything. Never raises."""
    return read_pieces((data[at : at + CHUNK] for at in range(0, len(data), CHUNK)), name, None)


def read_pieces(pieces: Iterable[bytes], name: str, kept: int | None) -> Reading:
    """Read a text in pieces of any size. Of each kind `kept` records are kept (None: all).

    With a limit memory does not grow with the text; the context says how many were not kept.
    """
    gathered = Gathered(kept)
    reader = TextReader(gathered.other)
    for piece in pieces:
        gathered.take(reader.feed(piece))
    gathered.take(reader.finish())
    return gathered.reading(name)


@dataclass(slots=True)
class Gathered:
    """What the lines gave so far. Others come before the records of the lines behind them."""

    kept: int | None
    samples: list[Sample] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    engines: dict[str, int] = field(default_factory=dict)
    context: dict[str, JSON] = field(default_factory=dict)
    results: TextResults = field(default_factory=TextResults)
    lives: Lives = field(default_factory=Lives)
    owners: list[Life] = field(default_factory=list)
    hosts: dict[str, None] = field(default_factory=dict)
    pids: dict[int, None] = field(default_factory=dict)
    offsets: list[float] = field(default_factory=list)
    waiting: list[Other] = field(default_factory=list)
    manifest: Manifest = field(default_factory=Manifest)
    script: Script = field(default_factory=Script)
    command: list[str] = field(default_factory=list)
    folded: Folded = field(default_factory=Folded)
    ignored: int = 0
    access: int = 0
    elided: bool = False
    loop: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    stopping: set[tuple[str | None, str | None]] = field(default_factory=set)
    carrier: str | None = None
    readings: int = 0

    def other(self, other: Other) -> None:
        """Take a line that gave no record; it waits for the records of the lines before it."""
        self.waiting.append(other)

    def take(self, told: list[Told]) -> None:
        """Take records and the waiting lines in the order in which they stand in the text."""
        lines, self.waiting = self.waiting, []
        index = 0
        for each in told:
            while index < len(lines) and lines[index].line < each.record.line:
                self._line(lines[index])
                index += 1
            self._settled(self.folded.flush())
            self._launched(self.manifest.finish(), each.origin)
            self._record(each)
        for line in lines[index:]:
            self._line(line)

    def _record(self, told: Told) -> None:
        record, origin = told.record, told.origin
        if self._is_full(record):
            return
        if isinstance(record, Sample):
            self._sample(record, origin)
            self._compare_clocks(record.time, told.time)
        elif isinstance(record, Event):
            record = self._in_its_life(record, origin)
            self.events.append(record)
            self.lives.event(record, origin)
            self.readings += record.kind in ("gpu_reading", "thermal_slowdown")
            if record.kind not in ("gpu_reading", "thermal_slowdown"):
                self.ignored += 1
        elif isinstance(record, Damaged):
            self.damaged.append(record)
        else:
            self.requests.append(record)
        telling = not isinstance(record, Event) or record.kind in _TELLING
        if told.engine is not None and telling:
            self.engines[told.engine] = self.engines.get(told.engine, 0) + 1

    def _is_full(self, record: Record | Request) -> bool:
        """Count what comes when enough of its kind is kept."""
        if self.kept is None:
            return False
        kinds: dict[type, Sequence[object]] = {
            Sample: self.samples,
            Event: self.events,
            Damaged: self.damaged,
            Request: self.requests,
        }
        if len(kinds[type(record)]) < self.kept:
            return False
        name = f"{type(record).__name__.lower()}s_not_kept"
        self.dropped[name] = self.dropped.get(name, 0) + 1
        return True

    def _in_its_life(self, event: Event, origin: Origin) -> Event:
        """vLLM calls its engine dead when it was asked to stop, too: that is no crash."""
        if event.kind == "server_stopping":
            self.stopping.add(origin.stream)
        elif event.kind in ("server_args", "server_ready"):
            self.stopping.discard(origin.stream)
        asked = origin.stream in self.stopping and event.data.get("slug") == "engine-dead"
        return replace(event, kind="engine_stopped") if asked else event

    def _sample(self, sample: Sample, origin: Origin) -> None:
        self.owners.append(self.lives.sample(sample, origin, sample.line))
        self.samples.append(sample)
        if origin.host is not None:
            self.hosts[origin.host] = None
        if origin.pid is not None:
            self.pids[origin.pid] = None
        self.carrier = origin.carrier or self.carrier

    def _compare_clocks(self, printed: str | None, carried: str | None) -> None:
        if carried is None or printed is None or len(self.offsets) >= _MANY_OFFSETS:
            return
        inner = moment(printed)
        outer = moment(carried, str(inner.year) if inner else "2000")
        if inner is not None and outer is not None and printed[:4].isdigit():
            self.offsets.append((outer - inner).total_seconds())

    def _line(self, other: Other) -> None:
        if b" HTTP/1" in other.text and _ACCESS.search(other.text):
            self.access += 1
            self.ignored += 1
            return
        self._settled(self.folded.push(other))

    def _settled(self, lines: list[tuple[Other, int]]) -> None:
        for line, parts in lines:
            self._whole(line, parts)

    def _whole(self, other: Other, parts: int) -> None:
        """Take a line, or the `parts` lines of one that was folded."""
        raw = decoded(other.text)
        taken = self.results.take(
            raw,
            other.offset,
            other.line,
            terminated=other.terminated,
            source=other.origin.source,
        )
        text = raw if "\r" not in raw else decoded(last_state(other.text))
        if taken:
            if _RULE.match(text):
                self.lives.results(other.origin.source, other.line)
            return
        self.ignored += parts
        if _ELISION.match(text):
            self.elided = True
        self._typed(text, other)
        if self.loop is None:
            self.loop = looping(text)

    def _typed(self, text: str, other: Other) -> None:
        """Read a command or remark; one that goes on in more lines is read as one."""
        if not self.command:
            taken, ended = self.manifest.push(text, terminated=other.terminated)
            self._launched(ended, other.origin)
            if taken:
                return
            line = self.script.push(text, terminated=other.terminated)
            if line is None:
                return
            text = line
        whole = " ".join([*self.command, text]) if self.command else text
        self.command = []
        small = len(whole) < _BODY_LIMIT and whole.count("\n") < _BODY_LINES
        if small and (("curl" in whole and _opens_body(whole)) or opens_request(whole)):
            self.command = [f"{whole}\n"]  # a request's body, laid out over lines
            return
        if not other.terminated:
            whole = _LAST_WORD.sub("", whole)  # it may go on where the text was cut
        self._settle(typed_settings(whole, self.script.environment))
        self.lives.heading(whole, other.origin)

    def _launched(self, ended: Launch | None, origin: Origin) -> None:
        """Take the command that a container's lines made, with its environment."""
        if ended is not None:
            self._settle(typed_settings(ended[0], {**self.script.environment, **ended[1]}))
            self.lives.heading(ended[0], origin)

    def _settle(self, told: dict[str, JSON]) -> None:
        if "launch_flags" in told:  # another server: nothing of the last one holds for it
            for name in FLAG_SETTINGS:
                self.context.pop(name, None)
            before = self.context.get("launch_flags")
            if before is not None and before != told["launch_flags"]:
                told["several_commands"] = True
        if "engines_told" in told:
            told["engines_told"] = _joined(self.context.get("engines_told"), told["engines_told"])
        self.context |= told

    def reading(self, name: str) -> Reading:
        """Put everything together."""
        self._settled(self.folded.flush())
        self._launched(self.manifest.finish(), PLAIN)
        found = self.results.finish()
        for key in ("spec_num_draft_tokens", "spec_num_steps"):
            if key in found.context:
                self.context.setdefault(key, found.context[key])
        samples = tuple(self._segmented())
        results = self._with_run_lengths(found)
        context = self._context(found, samples)
        lives = self.lives.all()
        segments = tuple(segment(life, samples) for life in lives) if self.lives.several else ()
        damaged = tuple(sorted([*self.damaged, *found.damaged], key=lambda each: each.offset))
        paste = Paste(
            samples=samples,
            events=tuple(self.events),
            requests=tuple(self.requests),
            rows=results,
            parts=tuple(part(life) for life in lives),
            context=context,
            damaged=len(damaged),
            failures=tuple(each.text for each in found.failures),
            elided=self.elided and bool(samples or results or damaged),
            looping=self.loop,
            offsets_s=tuple(self.offsets),
            late=len(self.lives.late),
        )
        return Reading(
            name=name,
            kind=self._kind(results),
            samples=samples,
            events=tuple(self.events),
            damaged=damaged,
            rows=short_rows(results, name),
            ignored_lines=self.ignored + found.ignored_lines,
            caveats=tuple(find_in_text(paste)),
            context=context,
            requests=tuple(self.requests),
            results=results,
            segments=segments,
            derived=self._derived(samples, results, segments, damaged, context),
        )

    def _derived(
        self,
        samples: tuple[Sample, ...],
        results: tuple[ResultRow, ...],
        segments: tuple[Segment, ...],
        damaged: tuple[Damaged, ...],
        context: dict[str, JSON],
    ) -> dict[str, JSON]:
        told = derived_of_text(
            samples, self.events, damaged, context, elided=self.elided and bool(samples)
        )
        told["access_lines"] = self.access or None
        found = derived(samples, self.events, self.requests, results, segments)
        return found | {key: value for key, value in told.items() if value not in (None, [], {})}

    def _segmented(self) -> list[Sample]:
        """Number the lives on the samples where there are several, each server by itself."""
        several = self.lives.several
        for sample, life in zip(self.samples, self.owners, strict=True):
            if several:
                sample.extras["segment"] = life.number
            self._judge_rate(sample, life)
        return self.samples

    def _judge_rate(self, sample: Sample, life: Life) -> None:
        """Bring the accept rate to one definition where the draft tokens are known."""
        drafts = life.settings.get("spec_num_draft_tokens")
        if drafts is None and not any(key.startswith("spec_") for key in life.settings):
            drafts = self.context.get("spec_num_draft_tokens")
        if sample.accept_rate is None or sample.accept_len is None or not isinstance(drafts, int):
            return
        strict = strict_rate(sample.accept_len, drafts)
        if strict is not None:
            sample.extras["accept_rate_strict"] = round(strict, 4)

    def _with_run_lengths(self, found: ResultReading) -> tuple[ResultRow, ...]:
        """Give rows the accept len of their own run, from the log before their block's end."""
        rows: list[ResultRow] = []
        lines = [each for each in self.samples if each.phase == "decode"]
        places = [each.line for each in lines]
        ends = sorted(line for _, line in self.lives.blocks)
        begin = 0
        for row in found.rows:
            block = bisect_left(ends, row.line)
            end = ends[block] if block < len(ends) else row.line
            own = [
                each
                for each in lines[bisect_right(places, begin) : bisect_left(places, end)]
                if row.concurrency is None or (each.running or 0) <= row.concurrency
            ]
            length = level_accept_len(own)
            told: dict[str, JSON] = {} if length is None else {"accept_len_run": length}
            rows.append(replace(row, context={**row.context, **told}))
            begin = end
        return tuple(rows)

    def _context(self, found: ResultReading, samples: tuple[Sample, ...]) -> dict[str, JSON]:
        told = told_settings(self.events, samples)
        context = {**found.context, **self.context, **told}
        if self.carrier:
            context["carrier"] = self.carrier
        if self.hosts:
            context["hosts"] = [*self.hosts]
        if self.pids:
            context["pids"] = [*self.pids]
        return context | {**self.dropped}

    def _kind(self, results: tuple[ResultRow, ...]) -> Kind:
        kinds = [kind for engine, kind in _ENGINE_KINDS.items() if engine in self.engines]
        if len(kinds) > 1 or (kinds and (results or self.readings)):
            return "mixed"
        if kinds:
            return kinds[0]
        return "bench-result" if results else "unknown"


def _joined(before: JSON, more: JSON) -> JSON:
    """Join two lists without what stands twice."""
    both = [
        *(before if isinstance(before, list) else ()),
        *(more if isinstance(more, list) else ()),
    ]
    return [each for place, each in enumerate(both) if each not in both[:place]]


def _opens_body(text: str) -> bool:
    """Whether the last quotation mark opens the body of a request that curl sends."""
    mark = text.rfind("'")
    before = text[max(0, mark - _BODY_REACH) : mark] if mark > 0 else ""
    return _BODY_FLAG.search(before[-20:]) is not None and _CURL.search(before) is not None
