"""A note becomes a rule: it is shown on exactly the runs of which its predicate holds."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.caveats.predicate import KEYS
from runs.models import Arm, Note, NoteRule, RuleException
from runs.noterules import matching_runs, values_of
from runs.views.notes import notes_rail
from tests.factories import (
    make_arm,
    make_campaign,
    make_host,
    make_note,
    make_run,
    make_workload,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db
GREEDY = "workload.temperature == 0 and config.spec_algorithm != none"


@pytest.fixture
def arms() -> tuple[Arm, Arm, Arm]:
    """Greedy with speculation, sampled with it, greedy without."""
    campaign = make_campaign()
    return (
        make_arm(campaign, "greedy"),
        make_arm(campaign, "sampled", workload=make_workload(temperature=0.7)),
        make_arm(campaign, "plain", steps=None),
    )


@pytest.fixture
def note() -> Note:
    return make_note("temperature=0 inflates acceptance", campaign=make_campaign("Elsewhere"))


def shown_on(run: object) -> list[str]:
    return [rule.note.text for rule in notes_rail(run).rules]


def promote(member: Client, note: Note, predicate: str = GREEDY) -> object:
    return member.post(f"/notes/{note.pk}/promote/", {"predicate": predicate})


def test_the_preview_counts_and_changes_nothing(
    member: Client, arms: tuple[Arm, Arm, Arm], note: Note
) -> None:
    runs = [make_run(arm) for arm in arms for _ in range(3)]
    shown = text(member.get(f"/notes/{note.pk}/", {"predicate": GREEDY}))
    assert "3 runs match" in shown
    assert all(f'href="/runs/{run.pk}/"' in shown for run in runs[:3])
    assert not any(f'href="/runs/{run.pk}/"' in shown for run in runs[3:])
    assert not NoteRule.objects.exists()


def test_it_marks_exactly_the_matching_runs_of_500_and_can_be_undone(
    member: Client, arms: tuple[Arm, Arm, Arm], note: Note
) -> None:
    runs = [make_run(arms[n % 3]) for n in range(500)]
    promote(member, note)
    wanted = {run.pk for n, run in enumerate(runs) if n % 3 == 0}
    assert {run.pk for run in matching_runs(GREEDY)} == wanted
    for run in runs[:6]:
        assert (shown_on(run) == [note.text]) is (run.pk in wanted)
    assert shown_on(make_run(arms[0])) == [note.text]  # and those to come
    shown = text(member.get(f"/runs/{runs[0].pk}/"))
    assert "shown by a rule of operator" in shown
    rule = NoteRule.objects.get()
    member.post(f"/notes/rules/{rule.pk}/undo/")
    assert shown_on(runs[0]) == []
    assert "undone by operator" in text(member.get(f"/notes/{note.pk}/"))


def test_an_exception_has_a_reason_and_is_told(
    member: Client, arms: tuple[Arm, Arm, Arm], note: Note
) -> None:
    first, second = make_run(arms[0]), make_run(arms[0])
    promote(member, note)
    rule = NoteRule.objects.get()
    member.post(f"/notes/rules/{rule.pk}/except/", {"run": first.pk, "reason": " "})
    assert not RuleException.objects.exists()
    member.post(f"/notes/rules/{rule.pk}/except/", {"run": first.pk, "reason": "Forced text."})
    assert (shown_on(first), shown_on(second)) == ([], [note.text])
    assert "Forced text." in text(member.get(f"/notes/{note.pk}/"))
    assert shown_on([arms[0], arms[1]]) == [note.text]  # one of its runs is left


def test_a_note_has_one_standing_rule(
    member: Client, arms: tuple[Arm, Arm, Arm], note: Note
) -> None:
    promote(member, note)
    promote(member, note, "host.name == llm-two")
    assert [rule.predicate for rule in NoteRule.objects.filter(undone_at=None)] == [
        "host.name == llm-two"
    ]
    assert NoteRule.objects.count() == 2


def test_what_is_no_predicate_comes_back_with_the_reason(member: Client, note: Note) -> None:
    answer = promote(member, note, "os.system == 1")
    shown = text(member.get(answer["Location"]))
    assert "os.system" in shown and "cannot be asked" in shown
    assert not NoteRule.objects.exists()


def test_a_note_is_told_once_where_it_hangs_itself(
    member: Client, arms: tuple[Arm, Arm, Arm]
) -> None:
    run = make_run(arms[0])
    own = make_note("here", run=run)
    promote(member, own)
    rail = notes_rail(run)
    assert ([n.text for n in rail.notes], rail.rules) == (["here"], [])


def test_every_key_is_told_of_an_arm(arms: tuple[Arm, Arm, Arm]) -> None:
    assert set(values_of(arms[0])) == set(KEYS)
    other = make_arm(make_campaign("b"), host=make_host("other"))
    assert values_of(other)["host.name"] == "other"
