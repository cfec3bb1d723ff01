"""What an ended counter-experiment says about the caveat that asked for it."""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.utils import timezone

from runs.answers import Answers
from runs.judging import Judged, judge
from runs.metrics.sentence import interval_words
from runs.metrics.shown import change
from runs.metrics.verdict import Verdict
from runs.metrics.wording import BETTER, DIRECTED, MATTERS, Word
from runs.models import CaveatTest, Dismissal, Run
from runs.models.states import FINAL
from runs.sides import sides_of

log = logging.getLogger(__name__)

Outcome = CaveatTest.Outcome
NAMES = {"output_tps": "output tok/s", "user_tps": "tok/s per user"}


def settle_tests() -> int:
    """Answer every caveat whose campaign has ended; how many that were."""
    going = Run.objects.exclude(state__in=FINAL)
    waiting = CaveatTest.objects.filter(outcome="").exclude(campaign__runs__in=going)
    return sum(settle(test) for test in waiting.select_related("campaign"))


@transaction.atomic
def settle(test: CaveatTest) -> bool:
    """Append the outcome, once; False if the campaign has not ended or was answered before."""
    held = CaveatTest.objects.select_for_update().get(pk=test.pk)
    runs = held.campaign.runs
    if held.outcome or not runs.exists() or runs.exclude(state__in=FINAL).exists():
        return False
    held.outcome, held.text, held.evidence = _answer(held)
    held.ended_at = timezone.now()
    held.save(update_fields=["outcome", "text", "evidence", "ended_at"])
    log.info("Caveat %s: %s", held.slug, held.outcome)
    return True


def _answer(test: CaveatTest) -> tuple[str, str, dict[str, Any]]:
    sides = sides_of(list(test.campaign.arms.order_by("position")[:2]))
    words = test.plan["words"]
    if any(side.provisional for side in sides):
        return Outcome.CANNOT_TELL, f"Cannot tell: not every arm of “{words}” was measured.", {}
    # what is tested may not forbid its own test
    given = Answers(dismissed={(test.slug, None): Dismissal(slug=test.slug)})
    metric = test.plan["metric"]
    if not any(side.values(metric, c) for side in sides for c in side.concurrencies):
        metric = "user_tps"
    judged = judge(sides[0], sides[1], metric, given, anyway=True)
    found = judged.judgement.sweep
    evidence = {
        "word": found.text,
        "metric": metric,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
    }
    decide = _of_one if test.plan["arms"] == "one" else _of_all
    outcome, text = decide(test, judged, found)
    return outcome, text, evidence


def _size(found: Verdict, metric: str) -> str:
    """ "−18 % output tok/s (−21 to −15 %)"."""
    said = f"{change(found.ratio)} {NAMES.get(metric, metric)}" if found.ratio else ""
    interval = interval_words(found)
    return f"{said} ({interval})" if interval else said


def _of_one(test: CaveatTest, judged: Judged, found: Verdict) -> tuple[str, str]:
    """The changed arm against the arm as it is."""
    size, words, wanted = _size(found, judged.metric), test.plan["words"], test.plan["confirmed_by"]
    if found.word not in DIRECTED | {Word.SAME}:
        why = "; ".join(found.remarks) or found.text
        return Outcome.CANNOT_TELL, f"Cannot tell: {words}: {size}, {why}."
    tone = "better" if found.word in BETTER else "worse"
    if found.word in MATTERS and wanted in ("any", tone):
        return Outcome.CONFIRMED, f"Confirmed: {words} gives {size}, {found.text}."
    return Outcome.REFUTED, f"Refuted: {words} gives {size}, {found.text}."


def _of_all(test: CaveatTest, judged: Judged, found: Verdict) -> tuple[str, str]:
    """All arms once more: does the figure that was doubted still stand?"""
    size, words, ratio = _size(found, judged.metric), test.plan["words"], test.plan["doubted_ratio"]
    if found.word not in DIRECTED | {Word.SAME} or found.low is None or found.high is None:
        why = "; ".join(found.remarks) or found.text
        return Outcome.CANNOT_TELL, f"Cannot tell: {words}: {size}, {why}."
    if ratio is None:
        return Outcome.CANNOT_TELL, f"{words}: {size}, {found.text}; nothing was measured before."
    delta = judged.judgement.delta
    if found.low / (1 + delta) <= ratio <= found.high * (1 + delta):
        return (
            Outcome.REFUTED,
            f"Refuted: {words} gives {size}, {found.text}; before it was {change(ratio)}.",
        )
    return (
        Outcome.CONFIRMED,
        f"Confirmed: {words} gives {size}, {found.text}, not the {change(ratio)} of before.",
    )
