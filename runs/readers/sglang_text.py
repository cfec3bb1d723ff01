"""A pasted or uploaded SGLang log, plain or out of the journal."""

from runs.caveats.gather import gather
from runs.caveats.registry import find_caveats
from runs.engines.base import JSON, Damaged, Event, Sample
from runs.engines.feed import LineFeed, Position, RawLine
from runs.engines.sglang.log import LINE_LIMIT, read_line
from runs.readers.carriers import unwrap
from runs.readers.context import told_settings, typed_settings
from runs.readers.reading import Kind, Reading

# These are printed by SGLang only; a traceback's line alone makes no SGLang log.
_TELLING = {"server_args", "server_ready", "capacity", "retraction", "startup_timings", "crash"}


def read_sglang(data: bytes, name: str) -> Reading:
    """Read a whole log. A text without a record of SGLang gives kind 'unknown'."""
    gathered = _Gathered()
    feed = LineFeed(Position(0, 1, b"", 0), LINE_LIMIT)
    for line in [*feed.push(data), *feed.rest()]:
        gathered.take(line)
    return gathered.reading(name)


class _Gathered:
    """What the lines gave so far."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.events: list[Event] = []
        self.damaged: list[Damaged] = []
        self.ignored = 0
        self.context: dict[str, JSON] = {}
        self.hosts: dict[str, None] = {}
        self.pids: dict[int, None] = {}

    def take(self, line: RawLine) -> None:
        if line.too_long:
            text = line.raw[:200].decode("utf-8", "replace").replace("\x00", "\ufffd")
            self.damaged.append(Damaged("line too long", text, line.offset, line.line))
            return
        carried = unwrap(line.raw)
        records = read_line(
            carried.message, offset=line.offset, line=line.line, terminated=line.terminated
        )
        if carried.host is not None and any(isinstance(each, Sample) for each in records):
            self.hosts[carried.host] = None
            self.pids[carried.pid or 0] = None
        self._sort(records, carried.message)

    def _sort(self, records: list[Sample | Event | Damaged], message: bytes) -> None:
        gave_sample = False
        for record in records:
            if isinstance(record, Sample):
                self.samples.append(record)
                gave_sample = True
            elif isinstance(record, Damaged):
                self.damaged.append(record)
                gave_sample = True
            else:
                self.events.append(record)
        if not gave_sample and message.strip():
            self.ignored += 1
            if not records:
                self.context |= typed_settings(message.decode("utf-8", "replace"))

    def reading(self, name: str) -> Reading:
        context = {**self.context, **told_settings(self.events, self.samples)}
        if self.hosts:
            context |= {"carrier": "journal", "hosts": [*self.hosts], "pids": [*self.pids]}
        known = self.samples or self.damaged or any(e.kind in _TELLING for e in self.events)
        kind: Kind = "sglang-log" if known else "unknown"
        facts = gather(
            flags=_flags(context),
            effective=context,
            workload=context,
            levels=(),
            samples=self.samples,
            client_tps=None,
        )
        return Reading(
            name=name,
            kind=kind,
            samples=tuple(self.samples),
            events=tuple(self.events),
            damaged=tuple(self.damaged),
            rows=(),
            ignored_lines=self.ignored,
            caveats=tuple(find_caveats(facts)),
            context=context,
        )


def _flags(context: dict[str, JSON]) -> dict[str, JSON] | None:
    """Give the flags a rule looks at, from the command or from the server's own dump."""
    typed = context.get("launch_flags")
    flags = dict(typed) if isinstance(typed, dict) else {}
    for name, flag in (
        ("spec_num_draft_tokens", "--speculative-num-draft-tokens"),
        ("spec_num_steps", "--speculative-num-steps"),
        ("spec_algorithm", "--speculative-algorithm"),
    ):
        if name in context:
            flags[flag] = context[name]
    return flags or None
