"""The caveats of a run, in words, the worst first, with what was answered to them."""

from __future__ import annotations

from dataclasses import dataclass

from runs.answers import Answers, answers
from runs.caveats.base import SEVERITIES, Experiment, Severity
from runs.caveats.registry import experiment_of, shown_at
from runs.metrics.shown import evidence_words
from runs.models import Caveat, CaveatTest, Dismissal, Run

# slugs whose words are names
TITLES = {
    "cuda-graph-off": "CUDA graph off",
    "ignore-eos": "ignore_eos",
    "kv-pressure": "KV pressure",
    "lora": "LoRA",
    "env-differs": "Environment differs",
}


@dataclass(frozen=True)
class CaveatRow:
    """A rule's remark; ``evidence`` is the measured value in words."""

    caveat: Caveat
    title: str
    severity: Severity
    evidence: str
    dismissal: Dismissal | None
    undone: list[Dismissal]
    tests: list[CaveatTest]
    experiment: Experiment | None  # that one arm alone can answer


def caveat_rows(run: Run) -> list[CaveatRow]:
    """Every caveat of a run; dismissed ones come last."""
    given = answers(runs=[run.pk])
    rows = [_row(caveat, given) for caveat in run.caveats.all()]
    return sorted(
        rows, key=lambda r: (r.dismissal is not None, *shown_at(r.caveat.slug, r.severity))
    )


def _row(caveat: Caveat, given: Answers) -> CaveatRow:
    test = experiment_of(caveat.slug)
    return CaveatRow(
        caveat=caveat,
        title=caveat_title(caveat.slug),
        severity=severity(caveat),
        evidence=evidence_words(caveat.evidence),
        dismissal=given.dismissal(caveat.slug, [caveat.run_id]),
        undone=[each for each in given.undone if each.slug == caveat.slug],
        tests=given.tests_of(caveat.slug, [caveat.run_id]),
        experiment=test if test and test.arms == "one" else None,
    )


def severity(caveat: Caveat) -> Severity:
    return next(each for each in SEVERITIES if each == caveat.severity)


def caveat_title(slug: str) -> str:
    return TITLES.get(slug, slug.replace("-", " ").capitalize())
