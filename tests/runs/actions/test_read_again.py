"""Reading an import again: the same runs, everything of them anew, or nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from runs.actions import large_log, texts
from runs.actions import read_again as action
from runs.actions.annotate import add_note
from runs.actions.import_showcase import import_folder
from runs.actions.import_texts import import_texts
from runs.actions.launch import Refused
from runs.actions.read_again import outdated, read_again
from runs.actions.texts import Source
from runs.models import Arm, Campaign, Caveat, Event, Level, LogStream, Note, Run, Sample
from tests.factories import make_person
from tests.signed_in import member, text

__all__ = ["member"]
pytestmark = pytest.mark.django_db
SHOWCASE = Path(settings.BASE_DIR) / "showcase"
CASES = Path(__file__).parents[2] / "field_cases"


def everything(campaign: Campaign) -> dict[str, Any]:
    """All figures of a campaign, without the numbers that the database gives rows."""
    runs = Run.objects.filter(campaign=campaign)
    samples = Sample.objects.filter(stream__attempt__run__in=runs)
    names = [f.name for f in Sample._meta.fields if f.name not in ("id", "stream")]
    levels = [f.name for f in Level._meta.fields if f.name not in ("id", "attempt")]
    return {
        "runs": list(runs.values_list("pk", "arm__name", "launch", "state")),
        "samples": sorted(map(repr, samples.values_list("stream__attempt__run", *names))),
        "levels": sorted(
            map(
                repr,
                Level.objects.filter(attempt__run__in=runs).values_list("attempt__run", *levels),
            )
        ),
        "events": sorted(
            map(repr, Event.objects.filter(run__in=runs).values_list("run", "kind", "line", "data"))
        ),
        "caveats": sorted(
            map(repr, Caveat.objects.filter(run__in=runs).values_list("run", "slug", "evidence"))
        ),
        "startup": list(runs.order_by("pk").values_list("attempts__startup", flat=True)),
        "texts": {
            stream.path: (stream.text(), stream.sha256)
            for stream in LogStream.objects.filter(attempt__run__in=runs, text_of=None)
        },
    }


@pytest.mark.parametrize(
    "folder",
    ["h200-standalone-steps", "qwen3.6-27b-mtp", "kimi-k2.6-dflash", "qwen3.5-122b-nextn"],
)
def test_the_same_reader_finds_the_same(folder: str) -> None:
    campaign = import_folder(folder=SHOWCASE / folder)
    before = everything(campaign)
    assert read_again(campaign=campaign, by=None) > 0
    assert everything(campaign) == before


@pytest.mark.parametrize("number", [25, 43, 49, 55, 68, 11, 8, 67, 56])
def test_pastes_of_every_kind_read_the_same_again(number: int) -> None:
    (path,) = (p for p in CASES.glob(f"{number:02}-*") if ".expect." not in p.name)
    campaign = import_texts(sources=[Source(path.name, path)], by=None)
    before = everything(campaign)
    read_again(campaign=campaign, by=None)
    assert everything(campaign) == before


def test_what_an_older_reader_lost_comes_back_numbered_from_one() -> None:
    campaign = import_folder(folder=SHOWCASE / "h200-standalone-steps")
    before = everything(campaign)
    Sample.objects.filter(seq__lte=200).delete()
    Event.objects.exclude(stream=None).delete()
    Level.objects.all().delete()
    LogStream.objects.update(parser_version=1)
    assert outdated() == [campaign]
    read_again(campaign=campaign, by=None)
    assert everything(campaign) == before
    assert outdated() == []
    for stream in LogStream.objects.all():
        numbers = list(stream.samples.values_list("seq", flat=True))
        assert numbers == list(range(1, stream.next_seq))


def test_notes_stay_where_they_hang() -> None:
    campaign = import_folder(folder=SHOWCASE / "h200-standalone-steps")
    run = Run.objects.get(arm__name="steps=3")
    person = make_person()
    for on in (run, run.arm, campaign):
        add_note(on=on, text=f"on {on}", kind="note", by=person, anchor="")
    before = list(Note.objects.values_list("pk", "run", "arm", "campaign", "text"))
    read_again(campaign=campaign, by=person)
    assert list(Note.objects.values_list("pk", "run", "arm", "campaign", "text")) == before


def test_nothing_is_lost_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = import_folder(folder=SHOWCASE / "h200-standalone-steps")
    before = everything(campaign)

    def broken(*args: Any, **more: Any) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr(action.Texts, "store_rest", broken)
    with pytest.raises(RuntimeError, match="power"):
        read_again(campaign=campaign, by=None)
    assert everything(campaign) == before
    assert campaign.arms.count() == 7


def test_texts_that_now_read_as_other_arms_are_left_alone() -> None:
    (path,) = (p for p in CASES.glob("25-*") if ".expect." not in p.name)
    campaign = import_texts(sources=[Source(path.name, path)], by=None)
    attempt = Run.objects.earliest("pk").attempts.get()
    attempt.facts = {**attempt.facts, "import": {"arm": "an arm of yesterday", "launch": 1}}
    attempt.save()
    before = everything(campaign)
    with pytest.raises(Refused, match="an arm of yesterday"):
        read_again(campaign=campaign, by=None)
    assert everything(campaign) == before


def test_a_life_that_an_older_reader_missed_becomes_an_arm() -> None:
    (path,) = (p for p in CASES.glob("25-*") if ".expect." not in p.name)
    campaign = import_texts(sources=[Source(path.name, path)], by=None)
    missed = Arm.objects.get(name="steps=3")
    missed.runs.all().delete()
    missed.delete()
    read_again(campaign=campaign, by=None)
    again = Arm.objects.get(name="steps=3")
    assert Sample.objects.filter(stream__attempt__run__arm=again).count() == 2


def test_a_large_log_reads_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LARGE", 1000)
    monkeypatch.setattr(large_log, "PIECE", 2000)
    paths = [
        *(p for p in CASES.glob("25-*") if ".expect." not in p.name),
        SHOWCASE / "h200-standalone-steps" / "steps-1.server.log",
    ]
    for path in paths:
        campaign = import_texts(sources=[Source(path.name, path)], by=None)
        before = everything(campaign)
        read_again(campaign=campaign, by=None)
        assert everything(campaign) == before
        assert campaign.arms.filter(name="being imported").count() == 0


def test_the_button_reads_again_and_says_so(member: Client) -> None:
    import_folder(folder=SHOWCASE / "qwen3.6-27b-mtp")
    run = Run.objects.get(arm__name="MTP")
    LogStream.objects.update(parser_version=1)
    page = text(member.get(run.get_absolute_url()))
    assert "Read again" in page and "An older reader made this." in page
    page = text(member.post(f"/runs/{run.pk}/read-again/", follow=True))
    assert "Read again: 1 run made anew." in page
    assert "An older reader made this." not in page


def test_a_run_without_a_text_has_no_button(member: Client) -> None:
    import_folder(folder=SHOWCASE / "qwen3.5-122b-steps")
    run = Run.objects.filter(imported=True)[0]
    assert "Read again" not in text(member.get(run.get_absolute_url()))
    page = text(member.post(f"/runs/{run.pk}/read-again/", follow=True))
    assert "Nothing of this campaign was imported as a text." in page


def test_the_command_reads_what_an_older_reader_made(capsys: pytest.CaptureFixture[str]) -> None:
    first = import_folder(folder=SHOWCASE / "qwen3.6-27b-mtp")
    import_folder(folder=SHOWCASE / "kimi-k2.6-dflash")
    LogStream.objects.filter(attempt__run__campaign=first).update(parser_version=1)
    call_command("read_again", "--all")
    assert capsys.readouterr().out.count("read again") == 1
    call_command("read_again", "--all")
    assert "Everything was read by this version." in capsys.readouterr().out
    call_command("read_again", str(first.pk))
    assert "1 run read again" in capsys.readouterr().out
    for wrong in ([], ["999"], ["--all", "1"]):
        with pytest.raises(CommandError):
            call_command("read_again", *wrong)
