"""An import as a row: done once, begun anew after a worker's death, never half and never lost."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from runs import pending, tasks
from runs.actions import import_job, import_large, large_log, read_again, texts
from runs.actions.import_job import begin_import, begin_reading_again, perform, try_again
from runs.actions.launch import Refused
from runs.actions.pieces import JobPieces, Overtaken
from runs.models import Campaign, Import, LogStream, Sample, ServerConfig
from tests.factories import make_person

pytestmark = pytest.mark.django_db
LIVES = Path(__file__).parents[2] / "field_cases" / "25-journald-two-lives-of-a-unit.log"


class Killed(BaseException):
    """What SIGKILL leaves behind: nothing of ours runs any more."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(texts, "LARGE", 1000)
    monkeypatch.setattr(large_log, "PIECE", 500)
    monkeypatch.setattr(import_job, "ring_import", lambda pk: True)


def job(data: bytes | None = None, name: str = "a.log") -> Import:
    by = make_person()
    kept = pending.keep([(name, [LIVES.read_bytes() if data is None else data])], by)
    return begin_import(kept=kept, by=by)


def files() -> list[Path]:
    return list((pending._folder()).iterdir())


def silent(row: Import) -> None:
    Import.objects.filter(pk=row.pk).update(heard_at=timezone.now() - timedelta(hours=1))


def killed(monkeypatch: pytest.MonkeyPatch, row: Import, at: int) -> None:
    """The worker dies at its ``at``-th piece, and nobody puts anything in order."""
    count = 0
    usual = large_log.LargeLog._store

    def store(self: Any, told: Any) -> None:
        nonlocal count
        count += 1
        if count == at:
            raise Killed
        usual(self, told)

    with monkeypatch.context() as patch:
        patch.setattr(large_log.LargeLog, "_store", store)
        for each in (import_large, read_again):
            patch.setattr(each, "remove", lambda campaign: True)
        with pytest.raises(Killed):
            perform(row.pk, "worker")


def test_an_import_is_done_once_and_its_texts_go() -> None:
    row = job()
    perform(row.pk, "worker")
    perform(row.pk, "worker")
    row.refresh_from_db()
    campaign = Campaign.objects.get()
    assert (row.state, row.campaign, row.half, row.position) == ("done", campaign, None, row.size)
    assert campaign.importing_since is None
    assert files() == []


def test_what_a_killed_worker_left_is_begun_anew_and_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = job()
    perform(whole.pk, "worker")
    count, configs = Sample.objects.count(), ServerConfig.objects.count()
    Campaign.objects.all().delete()
    ServerConfig.objects.all().delete()
    row = job()
    killed(monkeypatch, row, 3)
    row.refresh_from_db()
    assert row.state == "running" and 0 < row.position < row.size
    assert row.half == Campaign.objects.get()  # hidden
    assert not Campaign.objects.whole().exists()
    perform(row.pk, "worker")  # the message comes again, and the worker may still be at it
    assert Import.objects.get(pk=row.pk).tries == 1
    silent(row)
    perform(row.pk, "worker")
    row.refresh_from_db()
    assert (row.state, row.tries, row.campaign) == ("done", 2, Campaign.objects.get())
    assert (Sample.objects.count(), ServerConfig.objects.count()) == (count, configs)
    assert files() == []


def test_a_worker_taken_for_dead_writes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    row = job()
    first = Import.objects.claim(row.pk, "one")
    assert first is not None
    silent(row)
    second = Import.objects.claim(row.pk, "two")
    assert second is not None
    half = Campaign.objects.create(question="half", importing_since=timezone.now())
    late = JobPieces(first)
    with pytest.raises(Overtaken), late.piece(half, 10):
        raise AssertionError("it was let in")
    with pytest.raises(Overtaken), late.last():
        raise AssertionError("it was let in")
    assert not first.ended("failed", error="late")
    with JobPieces(second).piece(half, 10):
        pass
    assert Import.objects.get().position == 10


def test_a_worker_overtaken_within_a_piece_undoes_it() -> None:
    row = job()
    first = Import.objects.claim(row.pk, "one")
    assert first is not None
    half = Campaign.objects.create(question="half", importing_since=timezone.now())

    def overtaken() -> None:
        with JobPieces(first).piece(half, 10):
            Campaign.objects.create(question="of the piece")
            Import.objects.filter(pk=row.pk).update(epoch=7)

    with pytest.raises(Overtaken):
        overtaken()
    assert not Campaign.objects.filter(question="of the piece").exists()


def test_imports_go_one_after_the_other() -> None:
    first, second = job(), job()
    assert Import.objects.next_due() == first
    assert Import.objects.claim(first.pk, "one")
    assert Import.objects.claim(second.pk, "two") is None
    assert Import.objects.next_due() is None
    silent(first)
    assert Import.objects.next_due() == first


def test_a_text_that_kills_each_worker_is_given_up_and_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = job()
    for _ in range(import_job.MOST_TRIES):
        killed(monkeypatch, row, 2)
        silent(row)
    perform(row.pk, "worker")
    row.refresh_from_db()
    assert row.state == "failed" and "memory" in row.error
    assert len(files()) == 1
    assert not Campaign.objects.exists()
    try_again(job=row)
    perform(row.pk, "worker")
    assert Import.objects.get().state == "done"


def test_a_text_without_a_measurement_says_where_and_why() -> None:
    row = job(b'{"a": ' * 10_000 + b"\n", "deep.json")
    perform(row.pk, "worker")
    row.refresh_from_db()
    assert row.state == "failed"
    assert "Nothing in this text can be measured" in row.error
    assert "deep.json, line 1, byte " in row.error
    assert not Campaign.objects.exists()


def test_a_fault_is_told_and_the_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    row = job()

    def broken(*_: object) -> None:
        raise ValueError("no such thing")

    with monkeypatch.context() as patch:
        patch.setattr(import_large, "store_results", broken)
        perform(row.pk, "worker")
    row.refresh_from_db()
    assert row.state == "failed" and "ValueError: no such thing" in row.error
    assert not Campaign.objects.exists() and len(files()) == 1


def test_texts_that_are_gone_are_said_to_be() -> None:
    row = job()
    pending.forget(row.texts)
    perform(row.pk, "worker")
    row.refresh_from_db()
    assert row.error == import_job.GONE
    with pytest.raises(Refused, match="no longer here"):
        try_again(job=row)


def test_a_long_import_is_read_again_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    perform(job().pk, "worker")
    campaign = Campaign.objects.get()
    before = list(Sample.objects.order_by("line").values_list("seq", "line", "output_tps"))
    streams = set(LogStream.objects.values_list("pk", flat=True))
    row = begin_reading_again(campaign=campaign, by=make_person())
    assert begin_reading_again(campaign=campaign, by=make_person()) == row
    killed(monkeypatch, row, 3)
    mine = Sample.objects.filter(stream__attempt__run__campaign=campaign)
    assert mine.count() == len(before)  # all that was there still is
    assert Campaign.objects.count() == 2
    silent(row)
    perform(row.pk, "worker")
    row.refresh_from_db()
    assert (row.state, row.campaign) == ("done", campaign)
    assert Campaign.objects.get() == campaign  # the hidden one is gone
    after = list(Sample.objects.order_by("line").values_list("seq", "line", "output_tps"))
    assert after == before
    assert not streams & set(LogStream.objects.values_list("pk", flat=True))


def test_the_sweep_rings_for_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every message lost the row is found again: the database is the ledger."""
    rung: list[int] = []
    monkeypatch.setattr(tasks, "ring_import", rung.append)
    tasks.ring_imports()
    row = job()
    tasks.ring_imports()
    Import.objects.claim(row.pk, "one")
    tasks.ring_imports()  # it is at work
    silent(row)
    tasks.ring_imports()
    assert rung == [row.pk, row.pk]


def test_a_worker_that_ends_gives_its_import_back() -> None:
    row = job()
    first = Import.objects.claim(row.pk, "one")
    assert first is not None
    assert Import.objects.give_back("two") == 0
    assert Import.objects.give_back("one") == 1
    half = Campaign.objects.create(question="half", importing_since=timezone.now())
    with pytest.raises(Overtaken), JobPieces(first).piece(half, 10):
        raise AssertionError("it was let in")
    perform(row.pk, "two")
    assert Import.objects.get().state == "done"
