"""From readings to a plan: launches, their results, arms with names, caveats of each launch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.caveats.text.registry import find_in_text
from runs.engines.base import JSON, Sample
from runs.intake import names, windows
from runs.intake.about import NOTHING, UNKNOWN, About, about_rows
from runs.intake.client import client_of
from runs.intake.groups import (
    Group,
    client_key,
    difference,
    groups_of,
    points,
    results_of,
    spec_words,
)
from runs.intake.pairing import Served, once, pair
from runs.intake.parts import Part, parts
from runs.intake.plan import (
    Hints,
    Plan,
    PlannedArm,
    PlannedLaunch,
    PlannedLevel,
    Server,
    Text,
    Window,
)
from runs.intake.server import died, server_of
from runs.readers.results.base import ResultRow

_NO_GROUP = Group(text=-1, label=None, tool=UNKNOWN, rows=())


def plan(texts: Sequence[Text], hints: Hints) -> Plan:
    """Find the launches in all texts, give each its results, and sort launches into arms."""
    cut = [parts(text.reading) for text in texts]
    found = [
        group
        for place, text in enumerate(texts)
        for group in groups_of(place, results_of(text.reading), hints)
    ]
    served = pair(texts, cut, found)
    launches = (_Launch(each, texts, cut, hints, found) for each in served)
    drafts = [draft for launch in launches for draft in launch.drafts()]
    drafts = _with_the_rest(drafts, texts)
    context = {k: v for text in texts for k, v in text.reading.context.items()}
    hosts = context.get("hosts")
    arms = _arms(drafts, [each.server for each in drafts])
    if hints.only and len(arms) == 1:
        arms = [replace(arms[0], name=hints.only)]
    return Plan(
        arms=tuple(arms),
        host=str(hosts[0]) if isinstance(hosts, list) and len(hosts) == 1 else None,
        gpus={k: context[k] for k in ("gpu", "gpu_count") if context.get(k) is not None},
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A launch with what its arm will be; `name` is its own, `suffix` what its client adds."""

    label: str | None
    stem: str
    suffix: str
    server: Server
    rows: tuple[ResultRow, ...]
    context: dict[str, JSON]
    launch: PlannedLaunch
    texts: frozenset[int]


class _Launch:
    """One launch and its groups: the one with most points has the log, the others their windows."""

    def __init__(
        self,
        served: Served,
        texts: Sequence[Text],
        cut: Sequence[Sequence[Part]],
        hints: Hints,
        groups: Sequence[Group],
    ) -> None:
        self.cut, self.groups = cut, groups
        self.served, self.texts, self.hints = served, texts, hints
        part, log = served.part, served.log
        self.alone = log is None or len(cut[log]) < 2
        self.reading = texts[log].reading if log is not None else None
        self.rows = once(served.rows)
        same = bool(served.groups) and all(group.text == log for group in served.groups)
        own = part.samples if part else ()
        found = windows.windows(self.rows, part.events if part else (), own, same=same)
        self.windows = {id(self.rows[place]): window for place, window in found.items()}

    def drafts(self) -> list[Draft]:
        groups = self._merged()
        main = max(groups, key=lambda group: len(group.points)) if groups else _NO_GROUP
        ordered = [main, *(group for group in groups if group is not main)]
        elsewhere = {id(s) for g in ordered[1:] for s in self._samples(g)}
        return [self._draft(group, main, elsewhere) for group in ordered]

    def _merged(self) -> list[Group]:
        """Join groups of several files that differ in nothing but their file."""
        merged: dict[str, Group] = {}
        kept = {id(row) for row in self.rows}
        for group in self.served.groups:
            rows = tuple(row for row in group.rows if id(row) in kept)
            if not rows:
                continue
            key = repr([group.label, client_key(rows[0])])
            before = merged.get(key)
            joined = (*before.rows, *rows) if before else rows
            merged[key] = replace(before or group, rows=joined)
        return list(merged.values())

    def _samples(self, group: Group) -> list[Sample]:
        """Give the lines that stand in the windows of a group's runs."""
        part = self.served.part
        own = [self.windows[id(row)] for row in group.rows if id(row) in self.windows]
        if part is None or not own:
            return []
        return [s for s in part.samples if any(w.begin <= s.line < w.end for w in own)]

    def _draft(self, group: Group, main: Group, elsewhere: set[int]) -> Draft:
        part, log = self.served.part, self.served.log
        samples: Sequence[Sample] = self._samples(group)
        if group is main and part is not None:
            samples = [s for s in part.samples if id(s) not in elsewhere]
        clients = tuple(dict.fromkeys(g.text for g in self.served.groups if g.text != log))
        launch = PlannedLaunch(
            log=log,
            source=part.source if part else None,
            lines=part.lines if part else (0, 0),
            main=group is main,
            clients=clients if group is main else (),
            samples=tuple(samples),
            events=part.events if part and group is main else (),
            damaged=part.damaged if part and group is main else (),
            requests=self.reading.requests if self.reading and group is main else (),
            levels=tuple(self._level(row, earlier) for row, earlier in points(group.rows)),
            loose=tuple(row for row in group.rows if row.concurrency is None),
            findings=(),
            died=self._died(group),
        )
        server = self._server(group)
        context = self._context(self._texts_of(group))
        return Draft(
            label=group.label or names.heading(part.label if part else None) or None,
            stem=self.hints.names.get(self.served.stem, self.served.stem),
            suffix="" if group is main else difference(group, main),
            server=server,
            rows=group.rows,
            context=context,
            launch=replace(launch, findings=self._findings(launch, group.rows, context)),
            texts=frozenset([*clients, *([log] if log is not None else [])]),
        )

    def _texts_of(self, group: Group) -> list[int]:
        """Give the places of the texts that hold a row of the group."""
        kept = {id(row) for row in group.rows}
        return [g.text for g in self.served.groups if kept & {id(row) for row in g.rows}]

    def _server(self, group: Group) -> Server:
        told = server_of(
            self.served.part,
            self.reading,
            group.rows,
            alone=self.alone,
            about=self._about(group) if self.reading is None else NOTHING,
        )
        server = self.hints.server
        return replace(
            told,
            engine=server.get("engine", told.engine),
            model=server.get("model", told.model),
        )

    def _about(self, group: Group) -> About:
        """Give what the text of results without a log says around them."""
        places = self._texts_of(group)
        if len(places) != 1:
            return NOTHING
        beside = [each for each in self.groups if each.text == places[0]]
        everything = [row for each in beside for row in each.rows]
        alone = len(beside) == 1 and not self.cut[places[0]]
        reading = self.texts[places[0]].reading
        return about_rows(reading, everything, group.rows, alone=alone)

    def _level(self, row: ResultRow, earlier: tuple[ResultRow, ...]) -> PlannedLevel:
        window: Window | None = self.windows.get(id(row))
        part = self.served.part
        lines = windows.inside(window, part.samples) if window and part else []
        busy = windows.busy(lines, row.concurrency)
        return PlannedLevel(
            row=row,
            earlier=earlier,
            window=window,
            accept_len=windows.accept_len(row, window, lines),
            running=windows.mean_of([each.running for each in busy]),
            waiting=windows.mean_of([each.waiting for each in busy]),
        )

    def _died(self, group: Group) -> str:
        part = self.served.part
        broken = any(row.context.get("status") == "failed" for row in group.rows)
        return died(part.events) if part and (broken or not group.rows) else ""

    def _context(self, clients: Sequence[int]) -> dict[str, JSON]:
        """Give the settings of all texts of this launch, its own part's above them."""
        told: dict[str, JSON] = {}
        for place in clients:
            told |= self.texts[place].reading.context
        if self.reading is not None:
            told |= self.reading.context
        return told | (self.served.part.settings if self.served.part else {})

    def _findings(
        self, launch: PlannedLaunch, rows: Sequence[ResultRow], context: dict[str, JSON]
    ) -> tuple[Finding, ...]:
        """Ask all rules of a text about this launch and its results alone."""
        paste = Paste(
            samples=launch.samples,
            events=launch.events,
            requests=launch.requests,
            rows=tuple(rows),
            parts=(),
            context=context,
            damaged=len(launch.damaged),
            failures=(),
            elided=False,
            looping=None,
            offsets_s=(),
            late=0,
        )
        return tuple(find_in_text(paste))


def _with_the_rest(drafts: Sequence[Draft], texts: Sequence[Text]) -> list[Draft]:
    """Keep what a text says as a whole: on its only launch in its own words, else on the first."""
    found = list(drafts)
    for place, text in enumerate(texts):
        own = [i for i, draft in enumerate(found) if place in draft.texts]
        if not own or any(found[i].texts != {place} for i in own):
            continue
        told = text.reading.caveats
        if len(own) > 1:
            known = {f.slug for i in own for f in found[i].launch.findings}
            mine = found[own[0]].launch.findings
            told = (*mine, *(finding for finding in told if finding.slug not in known))
        first = found[own[0]]
        found[own[0]] = replace(first, launch=replace(first.launch, findings=tuple(told)))
    return found


def _arms(drafts: Sequence[Draft], servers: Sequence[Server]) -> list[PlannedArm]:
    """Sort launches into arms: equal name, server and client are launches of one arm."""
    several = len({repr([s.engine, s.model, s.flags]) for s in servers}) > 1
    found: list[tuple[str, PlannedArm]] = []
    for draft in sorted(drafts, key=lambda each: bool(each.suffix)):
        client = client_of(draft.rows, draft.context)
        name = _name(draft, several=several)
        key = repr([name, draft.server.flags, draft.server.model, client])
        place = next((i for i, (known, _) in enumerate(found) if known == key), None)
        if place is not None:
            arm = found[place][1]
            found[place] = (key, replace(arm, launches=(*arm.launches, draft.launch)))
            continue
        name = names.unique(name, (arm.name for _, arm in found))
        found.append((key, PlannedArm(name, draft.server, client, (draft.launch,))))
    return [arm for _, arm in found]


def _name(draft: Draft, *, several: bool) -> str:
    flags = draft.server.flags
    told = {**draft.context, **(draft.rows[0].context if draft.rows else {})}
    if flags.get("--speculative-num-steps") is not None:
        told["spec_num_steps"] = flags["--speculative-num-steps"]
    words = spec_words(told) if several else None
    base = draft.label or words or draft.stem or "as pasted"
    return f"{base}, {draft.suffix}" if draft.suffix else base
