"""Which client results belong to which launch of a server."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runs.engines.base import JSON
from runs.intake.groups import Group
from runs.intake.names import heading, stem
from runs.intake.parts import Part
from runs.intake.plan import Text
from runs.readers.results.base import ResultRow

_SPECULATION = ("spec_algorithm", "spec_num_steps", "spec_num_draft_tokens")


@dataclass(slots=True)
class Served:
    """A launch while its results are being found. `log` is None when nobody has its log."""

    log: int | None
    part: Part | None
    stem: str
    groups: list[Group] = field(default_factory=list)

    @property
    def rows(self) -> list[ResultRow]:
        """Its rows in the order of the client's runs, each run once."""
        places = [(g.text, row.offset, row) for g in self.groups for row in g.rows]
        return [row for _, _, row in sorted(places, key=lambda each: each[:2])]


def pair(
    texts: Sequence[Text], cut: Sequence[Sequence[Part]], groups: Sequence[Group]
) -> list[Served]:
    """Give every launch with its groups; groups without a log stand for launches of their own."""
    served = [
        Served(place, part, stem(texts[place].name))
        for place, parts in enumerate(cut)
        for part in parts
    ]
    alone: dict[str, Served] = {}
    for group in groups:
        owner = _owner(group, stem(texts[group.text].name), served)
        if owner is None:
            key = repr([stem(texts[group.text].name), group.label, _speculation(group)])
            owner = alone.setdefault(key, Served(None, None, stem(texts[group.text].name)))
        owner.groups.append(group)
    return [*served, *alone.values()]


def _owner(group: Group, name: str, served: Sequence[Served]) -> Served | None:
    beside = [each for each in served if each.log == group.text]
    if beside:
        return _fitting(group, beside) or _by_line(group, beside)
    named = [each for each in served if each.stem == name]
    if not named and len({each.log for each in served}) == 1:
        named = list(served)
    return _fitting(group, named) or (named[-1] if named else None)


def _fitting(group: Group, served: Sequence[Served]) -> Served | None:
    """Find the launch of that name or with that speculation, if it is one alone."""
    if len(served) < 2:
        return None
    label = (group.label or "").lower()
    named = [s for s in served if s.part and label and heading(s.part.label).lower() == label]
    if len(named) == 1:
        return named[0]
    told = _speculation(group)
    same = [s for s in served if s.part and told and _settings(s.part) == told]
    return same[0] if len(same) == 1 else None


def _speculation(group: Group) -> list[JSON] | None:
    told = [group.setting(name) for name in _SPECULATION]
    return told if any(value is not None for value in told) else None


def _settings(part: Part) -> list[JSON]:
    return [part.settings.get(name) for name in _SPECULATION]


def _by_line(group: Group, served: Sequence[Served]) -> Served:
    """Take the launch whose sample is the last one before the results, else the first behind."""
    line = group.rows[0].line
    before = [
        (max(own), place)
        for place, each in enumerate(served)
        if each.part and (own := [s.line for s in each.part.samples if s.line < line])
    ]
    return served[max(before)[1]] if before else served[0]


def once(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Leave out a row that tells of the same client run as a fuller one from another text."""
    kept: list[ResultRow] = []
    for row in rows:
        twin = next((i for i, other in enumerate(kept) if _same_run(row, other)), None)
        if twin is None:
            kept.append(row)
        elif len(row.metrics) > len(kept[twin].metrics):
            kept[twin] = row
    return kept


def _same_run(a: ResultRow, b: ResultRow) -> bool:
    if (a.tool, a.concurrency) != (b.tool, b.concurrency):
        return False
    told = 0
    for name in ("output_tps", "duration_s", "completed", "ttft_p50", "tpot_p50"):
        first, second = a.value(name), b.value(name)
        if first is None or second is None:
            continue
        if abs(first - second) > max(abs(first), abs(second)) * 0.002 + 0.0001:
            return False
        told += 1
    return told >= 4
