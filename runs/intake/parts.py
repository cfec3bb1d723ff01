"""A reading's log cut into launches: one for each process that served, each source by itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runs.engines.base import JSON, Damaged, Event, Sample
from runs.intake import names
from runs.readers.reading import Reading, Segment

# A heading that says no more than that it was another try with the same server.
_TRY = re.compile(
    r"(?i)\W{0,4}(?:(?:run|try|attempt|repeat|round|pass|warm-?up)\b"
    r"|(?:client|server|log|bench)\W*\Z)"
)
_BEGINS = ("service_stopping", "service_stopped", "service_started", "server_args")
END = 2**62  # behind every line
_NO_SETTING = (
    *("pid", "source", "label", "served", "decode_lines", "gen_throughput_mean"),
    "accept_len_mean",
)


@dataclass(frozen=True, slots=True)
class Part:
    """One launch in a log, in the lines [begin, end) of its source."""

    source: str | None
    label: str | None
    settings: dict[str, JSON]
    lines: tuple[int, int]
    samples: tuple[Sample, ...]
    events: tuple[Event, ...]
    damaged: tuple[Damaged, ...]

    @property
    def first(self) -> int:
        """The line of its first sample; 0 if it has none."""
        return self.samples[0].line if self.samples else 0


def parts(reading: Reading) -> list[Part]:
    """Cut a log. A text with events of a server and no sample is one launch that never served."""
    if reading.segments:
        groups = _merged(reading)
    else:
        groups = [({}, [each]) for each in _by_source(reading.samples)]
    found = [_part(told, samples) for told, samples in groups if samples]
    if not found and _is_server(reading):
        found = [_part({}, [])]
    return _with_events(found, reading)


def _is_server(reading: Reading) -> bool:
    return bool(reading.requests) or reading.kind.endswith("-log")


def _merged(reading: Reading) -> list[tuple[dict[str, JSON], list[list[Sample]]]]:
    """Join what the same process printed: a client's run that ended is no new launch."""
    groups: list[tuple[dict[str, JSON], list[list[Sample]]]] = []
    for segment in reading.segments:
        own = [reading.samples[place] for place in segment.samples]
        before = groups[-1] if groups else None
        if before is not None and _goes_on(before[0], segment):
            before[1].append(own)
        elif own:
            groups.append((dict(segment.told), [own]))
    return groups


def _goes_on(before: dict[str, JSON], segment: Segment) -> bool:
    told = segment.told
    if told.get("source") != before.get("source"):
        return False
    if told.get("pid") not in (None, before.get("pid")):
        return False
    if _sets_apart(str(told.get("label") or "")):
        return False
    return all(name in _NO_SETTING for name in told)


def _sets_apart(label: str) -> bool:
    """Tell a heading of another server from one of another try, or of its client."""
    words = names.heading(label)
    return not _TRY.match(words) if words else names.is_command(label)


def _by_source(samples: Sequence[Sample]) -> list[list[Sample]]:
    found: dict[JSON, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.extras.get("source"), []).append(sample)
    return list(found.values())


def _part(told: dict[str, JSON], groups: Sequence[Sequence[Sample]]) -> Part:
    samples = [sample for group in groups for sample in group]
    label = told.get("label")
    source = samples[0].extras.get("source") if samples else None
    return Part(
        source=source if isinstance(source, str) else None,
        label=label if isinstance(label, str) and _sets_apart(label) else None,
        settings={k: v for k, v in told.items() if k not in (*_NO_SETTING, "start_to_ready_s")},
        lines=(0, END),
        samples=tuple(samples),
        events=(),
        damaged=(),
    )


def _with_events(found: list[Part], reading: Reading) -> list[Part]:
    """Give each launch its lines, with the events and damaged records in them."""
    if not found:
        return []
    ordered = sorted(found, key=lambda part: part.first)
    begins = [0]
    for before, part in pairwise(ordered):
        last = before.samples[-1].line if before.samples else 0
        heads = [e.line for e in reading.events if e.kind in _BEGINS and last < e.line < part.first]
        begins.append(min([*heads, part.first]))
    late = _late(reading) if len({part.source for part in found}) == 1 else []
    ordered += [_part({}, [])] * len(late)
    begins += late
    ends = [*begins[1:], END]
    return [
        replace(
            part,
            lines=(begin, end),
            events=tuple(e for e in reading.events if begin <= e.line < end),
            damaged=tuple(d for d in reading.damaged if begin <= d.line < end),
        )
        for part, begin, end in zip(ordered, begins, ends, strict=True)
    ]


def _late(reading: Reading) -> list[int]:
    """Give the lines where servers began behind the last sample that a large text's reading has."""
    if "samples_not_kept" not in reading.context:
        return []
    last = reading.samples[-1].line
    return [e.line for e in reading.events if e.kind == "server_args" and e.line > last]
