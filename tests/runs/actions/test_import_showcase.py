"""The showcase as rows: every figure as published, nothing where nothing was."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from runs.actions.import_showcase import import_all
from runs.models import Arm, Campaign, Level, LogStream, Note, Run, Sample, State

SHOWCASE = Path(settings.BASE_DIR) / "showcase"


@pytest.fixture
def imported(db: None) -> list[Campaign]:
    return import_all(SHOWCASE)


def the(arm: str) -> Arm:
    """The arm of that name; two of its names stand in the whole logs of an H200 as well."""
    return Arm.objects.exclude(campaign__source__endswith="h200-standalone-steps").get(name=arm)


def levels(arm: str) -> list[tuple[int, float | None, float | None]]:
    rows = Level.objects.filter(attempt__run__arm=the(arm)).order_by("index")
    return [(level.concurrency, level.user_tps, level.output_tps) for level in rows]


def slugs(arm: str) -> set[str]:
    return {c.slug for run in the(arm).runs.all() for c in run.caveats.all()}


def test_it_imports_five_campaigns_once(imported: list[Campaign]) -> None:
    assert len(imported) == 5
    assert import_all(SHOWCASE) == []


def test_the_steps_campaign_has_its_levels_limits_and_caveats(imported: list[Campaign]) -> None:
    assert levels("steps=1")[0] == (1, 123, 122)
    assert levels("steps=2")[-1] == (64, 99, 1844)
    for arm, limit in (("steps=1", 26), ("steps=2", 21)):
        assert the(arm).runs.get().attempts.get().startup == {"max_running_requests": limit}
        assert {"greedy-sampling", "ignore-eos", "running-capped"} <= slugs(arm)
    note = Note.objects.get(text__startswith="temperature=0 inflates acceptance")
    assert (note.campaign is not None, note.anchor) == (True, "both arms")


def test_the_mtp_log_has_two_samples_and_a_damaged_line(imported: list[Campaign]) -> None:
    stream = LogStream.objects.get(attempt__run__arm__name="MTP")
    assert list(Sample.objects.filter(stream=stream).values_list("output_tps", "accept_len")) == [
        (71.44, 3.52),
        (63.82, 3.15),
    ]
    assert stream.damaged == 1
    assert levels("MTP") == [(1, 77, None), (4, None, 234)]
    assert "client-log-gap" in slugs("MTP")


def test_the_nextn_log_has_a_decode_sample_without_throughput(imported: list[Campaign]) -> None:
    samples = Sample.objects.filter(stream__attempt__run__arm__name="NEXTN")
    assert [s.phase for s in samples] == ["prefill", "decode"]
    decode = samples.last()
    assert decode is not None
    assert (decode.accept_len, decode.accept_rate, decode.output_tps) == (1.95, 0.97, None)
    assert "accept-rate-definition" in slugs("NEXTN")
    campaign = Campaign.objects.get(question__contains="NEXTN")
    assert campaign.facts["smoke_test"]["passed"] is True


def test_the_dflash_campaign_keeps_its_failed_launch(imported: list[Campaign]) -> None:
    failed = Run.objects.get(state=State.FAILED)
    assert failed.arm.name == "DFlash"
    assert "NoneType" in failed.reason_text
    assert levels("DFlash") == [(1, None, 70), (128, None, 1146)]
    assert {"cuda-graph-off", "queueing"} <= slugs("DFlash")


def test_nobody_can_connect_to_an_imported_host(imported: list[Campaign]) -> None:
    assert not any(run.host.can_connect for run in Run.objects.all())
