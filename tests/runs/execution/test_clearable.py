"""Which run folders may be taken away: those of which everything is proven to be here."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.execution.clearing import clearable
from runs.models import Run, State
from tests.factories import make_arm, make_attempt, make_campaign, make_run, make_stream

pytestmark = pytest.mark.django_db


def ended(**load: object) -> Run:
    """Its server's log was proven, and there were no GPUs to sample."""
    run = make_run(
        make_arm(make_campaign()), state=State.FAILED, ended_at=timezone.now() - timedelta(days=9)
    )
    attempt = make_attempt(run)
    make_stream(attempt, "server", position=30, complete=True)
    make_stream(attempt, "gpu")
    make_stream(attempt, "load", **load)
    return run


def test_all_that_was_begun_has_to_be_proven() -> None:
    proven = ended(position=30, complete=True)
    assert list(clearable(proven.host, days=7)) == [proven]


@pytest.mark.parametrize("position", [0, 30])
def test_a_log_that_may_be_on_the_node_alone_keeps_its_folder(position: int) -> None:
    run = ended(position=position, complete=False)
    assert not clearable(run.host, days=7).exists()
