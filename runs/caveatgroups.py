"""The caveats of a comparison: one group for each rule, the worst first, with all answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.answers import Answers
from runs.armfacts import arm_facts
from runs.caveatrows import caveat_title, severity
from runs.caveats.base import SEVERITIES, Experiment, Severity
from runs.caveats.registry import experiment_of, find_between, severity_of, shown_at
from runs.metrics.shown import evidence_words
from runs.models import CaveatTest, Dismissal
from runs.sides import Side

BY_LEVEL = "failed-requests"  # blocks the levels that it is about: see ``judging.failures``


@dataclass(frozen=True)
class CaveatGroup:
    """A rule's remarks on all counted launches, and on the arms side by side.

    ``runs`` are those that it was found on; none if it only shows between the arms.
    """

    slug: str
    title: str
    severity: Severity
    metric: str
    where: str
    texts: list[str]
    evidence: list[str]
    measured: list[tuple[str, dict[str, Any]]]  # whose, and the values as they were found
    runs: list[int]
    dismissal: Dismissal | None
    undone: list[Dismissal]
    tests: list[CaveatTest]
    experiment: Experiment | None

    @property
    def blocks(self) -> bool:
        return self.severity == "block" and self.dismissal is None and self.slug != BY_LEVEL


@dataclass(frozen=True)
class _Said:
    """One remark: of a launch, or (``side`` None) between the arms."""

    side: Side | None
    run: int | None
    severity: Severity
    metric: str
    text: str
    evidence: dict[str, Any]


def caveat_groups(sides: Sequence[Side], given: Answers) -> list[CaveatGroup]:
    """Every remark of the rules; dismissed ones come last."""
    found: dict[str, list[_Said]] = {}
    for side in sides:
        for launch in side.counted:
            for caveat in launch.run.caveats.all():
                said = _Said(
                    side, launch.run.pk, severity(caveat), caveat.metric, caveat.text,
                    caveat.evidence,
                )  # fmt: skip
                found.setdefault(caveat.slug, []).append(said)
    for between in find_between([arm_facts(side) for side in sides]):
        said = _Said(
            None, None, severity_of(between), between.metric, between.text, between.evidence
        )
        found.setdefault(between.slug, []).append(said)
    groups = [_group(slug, said, sides, given) for slug, said in found.items()]
    return sorted(groups, key=lambda g: (g.dismissal is not None, *shown_at(g.slug, g.severity)))


def _group(slug: str, said: Sequence[_Said], sides: Sequence[Side], given: Answers) -> CaveatGroup:
    runs = [each.run for each in said if each.run is not None]
    worst = min(said, key=lambda each: SEVERITIES.index(each.severity))
    return CaveatGroup(
        slug=slug,
        title=caveat_title(slug),
        severity=worst.severity,
        metric=worst.metric,
        where=_where(said, sides),
        texts=_whose([(_name(each), each.text) for each in said]),
        evidence=_whose([(_name(each), evidence_words(each.evidence)) for each in said]),
        measured=_measured(said),
        runs=list(dict.fromkeys(runs)),
        dismissal=given.dismissal(slug, runs),
        undone=[each for each in given.undone if each.slug == slug and each.run_id is None],
        tests=given.tests_of(slug, runs),
        experiment=experiment_of(slug, between=not runs),
    )


def _measured(said: Sequence[_Said]) -> list[tuple[str, dict[str, Any]]]:
    """Each arm's values once, even where several launches found the same."""
    found: list[tuple[str, dict[str, Any]]] = []
    for each in said:
        pair = (_name(each), each.evidence)
        if pair not in found:
            found.append(pair)
    return found


def _name(said: _Said) -> str:
    return said.side.name if said.side else "between the arms"


def _where(said: Sequence[_Said], sides: Sequence[Side]) -> str:
    names = list(dict.fromkeys(each.side.name for each in said if each.side))
    if not names:
        return "between the arms"
    if len(names) == len(sides):
        return "in both arms" if len(names) == 2 else "in all arms"
    return f"in {', '.join(names)}"


def _whose(said: list[tuple[str, str]]) -> list[str]:
    """Each remark once; where they differ, with the arms that it is about before it."""
    arms: dict[str, list[str]] = {}
    for name, text in said:
        arms.setdefault(text, []).append(name)
    if len(arms) == 1:
        return list(arms)
    return [f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in arms.items() if text]
