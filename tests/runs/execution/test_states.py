"""Random actors move runs about; the table of allowed moves is the only reality."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from people.models import Person
from runs.actions.cancel import cancel_run
from runs.actions.move import NotAllowed, move
from runs.execution import ledger
from runs.models import Event, Reason, Run, State
from runs.models.states import ACTIVE, ALLOWED, BAD_ENDS, FINAL
from tests.runs.execution.conftest import make_runs

STATES = st.sampled_from(list(State))
CONDUCTORS = st.sampled_from(["a", "b"])


def test_the_table_names_every_state_and_only_lost_is_left_again() -> None:
    assert set(ALLOWED) == set(State)
    assert {state for state in FINAL if ALLOWED[state]} == {State.LOST}
    assert ALLOWED[State.LOST] == set(FINAL) - {State.LOST}
    for state in ACTIVE:
        assert ALLOWED[state] >= BAD_ENDS
        assert len(ALLOWED[state] - BAD_ENDS) == 1


class Actors(RuleBasedStateMachine):
    """Two conductors, each with the row as it last saw it, and a person."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic: Any = transaction.atomic()
        self.atomic.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @initialize()
    def queue(self) -> None:
        (self.run, *_) = make_runs()
        self.by = Person.objects.create(username="owner")
        self.seen = {name: Run.objects.get(pk=self.run.pk) for name in "ab"}
        self.state = State.QUEUED
        self.epoch = 0
        self.path = [State.QUEUED]

    @rule(who=CONDUCTORS, expire=st.booleans())
    def claim(self, who: str, expire: bool) -> None:
        if expire:
            long_ago = timezone.now() - timedelta(hours=1)
            Run.objects.filter(pk=self.run.pk).update(claim_expires_at=long_ago)
        mine = Run.objects.get(pk=self.run.pk)
        if ledger.claim(mine, who):
            assert self.state not in FINAL
            self.epoch += 1
            self.seen[who] = mine

    @rule(who=CONDUCTORS, source=st.sets(STATES, min_size=1), to=STATES)
    def go(self, who: str, source: set[State], to: State) -> None:
        mine = self.seen[who]
        bad = to in BAD_ENDS
        may = self.state in source and to in ALLOWED[self.state] and mine.claim_epoch == self.epoch
        try:
            with transaction.atomic():
                move(
                    mine, allowed_from=source, to=to, epoch=mine.claim_epoch, actor=who,
                    reason=Reason.INTERNAL if bad else "", text="x" if bad else "",
                )  # fmt: skip
        except NotAllowed:
            assert not may
        else:
            assert may
            self._went(to)

    @rule(who=CONDUCTORS)
    def next(self, who: str) -> None:
        onward = list(ALLOWED[self.state] - BAD_ENDS - {State.CANCELLED, State.TIMED_OUT})
        self.go(who=who, source={self.state}, to=(onward or [State.ACQUIRING])[0])

    @rule()
    def cancel(self) -> None:
        cancel_run(run=Run.objects.get(pk=self.run.pk), by=self.by)
        if self.state == State.QUEUED:
            self._went(State.CANCELLED)

    def _went(self, to: State) -> None:
        self.state = to
        self.path.append(to)

    @invariant()
    def the_row_is_where_the_events_say(self) -> None:
        if not hasattr(self, "run"):
            return
        row = Run.objects.get(pk=self.run.pk)
        assert row.state == self.state
        assert row.claim_epoch == self.epoch
        assert (row.ended_at is not None) == (self.state in FINAL)
        assert bool(row.reason) == (self.state in BAD_ENDS)
        moves = Event.objects.filter(run=row, kind="state").values_list("data__to", flat=True)
        assert [State.QUEUED, *moves] == self.path
        for one, other in zip(self.path, self.path[1:], strict=False):
            assert other in ALLOWED[one]


@pytest.mark.slow
def test_no_actor_gets_a_run_anywhere_the_table_does_not_allow(db: None) -> None:
    run_state_machine_as_test(
        Actors,
        settings=settings(
            max_examples=60,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
