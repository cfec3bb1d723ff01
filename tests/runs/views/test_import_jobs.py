"""Long texts from the import page: their beginning is shown, a worker does the rest."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from runs import pending
from runs.actions import import_job
from runs.actions.import_job import perform
from runs.models import Campaign, Import, Sample
from tests.factories import make_person
from tests.runs.views.test_imports import LOG, ticket
from tests.signed_in import text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rung(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Everything of more than 1,000 bytes is a worker's; who was rung for."""
    settings.VAR_DIR = tmp_path
    settings.AT_ONCE_BYTES = 1000
    told: list[int] = []
    monkeypatch.setattr(import_job, "ring_import", told.append)
    return told


def upload(member: Client, data: bytes = LOG * 20, name: str = "big.log") -> str:
    return text(member.post("/import/", {"file": SimpleUploadedFile(name, data)}))


def files(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "pending").iterdir())


def test_a_long_log_is_stored_by_a_worker_and_the_page_follows(
    member: Client, rung: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    page = upload(member)
    assert "Make a campaign of all of it" in page and "Nothing is kept yet" in page
    assert "71.44" in page  # of its beginning
    with django_capture_on_commit_callbacks(execute=True):
        answer = member.post("/import/", {"ticket": ticket(page)})
    job = Import.objects.get()
    assert answer["Location"] == f"/import/{job.pk}/" and rung == [job.pk]
    assert not Campaign.objects.exists()  # nothing was stored within the request
    assert "Waiting for a worker" in text(member.get(job.get_absolute_url()))
    Import.objects.claim(job.pk, "one")
    Import.objects.update(position=job.size // 2)
    part = member.get(job.get_absolute_url(), headers={"hx-request": "true"})
    assert "<b>50 %</b>" in text(part) and "<html" not in text(part)
    assert 'hx-trigger="every 1s"' in text(part)
    Import.objects.update(state="waiting")
    perform(job.pk, "worker")
    part = member.get(job.get_absolute_url(), headers={"hx-request": "true"})
    address = Campaign.objects.get().get_absolute_url()
    assert part["HX-Redirect"] == address
    assert member.get(job.get_absolute_url())["Location"] == address
    assert Sample.objects.count() == 20


def test_a_form_sent_twice_is_one_import(member: Client) -> None:
    page = upload(member)
    told = {"ticket": ticket(page)}
    member.post("/import/", told)
    assert member.post("/import/", told).status_code == 410
    assert Import.objects.count() == 1


def test_an_import_is_its_persons_own(member: Client) -> None:
    job = Import.objects.create(person=make_person("somebody-else"), size=1, texts=[["x", "y"]])
    assert member.get(job.get_absolute_url()).status_code == 404
    assert member.post(f"{job.get_absolute_url()}again/").status_code == 404


def test_a_failed_import_says_why_and_can_be_tried_again(member: Client, tmp_path: Path) -> None:
    page = upload(member, b'{"a": ' * 500, "deep.json")
    member.post("/import/", {"ticket": ticket(page)})
    job = Import.objects.get()
    perform(job.pk, "worker")
    page = text(member.get(job.get_absolute_url()))
    assert "Nothing was stored." in page and "deep.json, line 1, byte" in page
    assert "hx-trigger" not in page
    assert "deep.json" in text(member.get("/import/"))  # it stands there until it is done
    member.post(f"{job.get_absolute_url()}again/")
    assert Import.objects.get().state == "waiting"
    for file in files(tmp_path):
        file.unlink()
    perform(job.pk, "worker")
    answer = member.post(f"{job.get_absolute_url()}again/", follow=True)
    assert "no longer here" in text(answer)


def test_a_long_import_is_read_again_by_a_worker(member: Client) -> None:
    page = upload(member)
    member.post("/import/", {"ticket": ticket(page)})
    perform(Import.objects.get().pk, "worker")
    run = Campaign.objects.get().runs.get()
    answer = member.post(f"/runs/{run.pk}/read-again/")
    job = Import.objects.get(kind="again")
    assert answer["Location"] == job.get_absolute_url()
    member.post(f"/runs/{run.pk}/read-again/")
    assert Import.objects.filter(kind="again").count() == 1
    perform(job.pk, "worker")
    assert member.get(job.get_absolute_url())["Location"] == run.campaign.get_absolute_url()
    assert Sample.objects.count() == 20


def test_texts_that_wait_for_a_worker_take_room_and_are_never_dropped(
    member: Client, settings: Any, tmp_path: Path
) -> None:
    settings.PENDING_BYTES = 3 * len(LOG) * 20
    for _ in range(2):
        member.post("/import/", {"ticket": ticket(upload(member))})
    for file in files(tmp_path):
        os.utime(file, (0, 0))  # of long ago
    first = ticket(upload(member))
    second = ticket(upload(member))  # the unconfirmed one before it gives way
    assert member.post("/import/", {"ticket": first}).status_code == 410
    assert member.post("/import/", {"ticket": second}).status_code == 302
    answer = member.post("/import/", {"file": SimpleUploadedFile("more.log", LOG * 20)})
    assert answer.status_code == 422
    assert "Wait until one has ended" in text(answer)
    for job in Import.objects.all():
        perform(job.pk, "worker")
    assert Campaign.objects.count() == 3 and files(tmp_path) == []


def test_only_so_many_uploads_of_a_person_are_held(member: Client, settings: Any) -> None:
    settings.PENDING_UPLOADS = 2
    tickets = []
    for _ in range(3):
        tickets.append(ticket(upload(member)))
        time.sleep(0.01)  # the oldest is told by its file's time
    codes = [member.post("/import/", {"ticket": each}).status_code for each in tickets]
    assert codes == [410, 302, 302]
    answer = member.post("/import/", {"file": SimpleUploadedFile("more.log", LOG)})
    assert "2 uploads of yours wait for a worker already" in text(answer)


def test_a_full_disk_is_told(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pending, "_write", full)
    answer = member.post("/import/", {"text": LOG.decode()})
    assert answer.status_code == 422
    assert "cannot be stored here: No space left on device" in text(answer)


def test_the_page_of_one_that_waits_says_how_many_come_first(member: Client) -> None:
    by = make_person("somebody-else")
    Import.objects.create(person=by, size=1, texts=[["x", "y"]])
    Import.objects.create(person=by, size=1, state="running", heard_at=timezone.now())
    member.post("/import/", {"ticket": ticket(upload(member))})
    page = text(member.get(Import.objects.latest("pk").get_absolute_url()))
    assert "2 other imports come first" in page


def test_before_anything_is_stored_no_share_is_told(
    member: Client, django_capture_on_commit_callbacks: Any
) -> None:
    page = upload(member)
    with django_capture_on_commit_callbacks(execute=True):
        member.post("/import/", {"ticket": ticket(page)})
    job = Import.objects.get()
    Import.objects.claim(job.pk, "one")
    told = text(member.get(job.get_absolute_url()))
    assert "<b>Reading.</b>" in told and "<b>0 %</b>" not in told
