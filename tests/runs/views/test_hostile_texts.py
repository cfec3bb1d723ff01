"""Texts that would break a reader: by the page, by a worker and by the command; never a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from runs.actions import import_job
from runs.actions.import_job import perform
from runs.models import Campaign, Import, Run
from tests.runs.views.test_imports import LOG, ticket
from tests.signed_in import text

pytestmark = pytest.mark.django_db
RESULT = b'{"backend": "sglang", "max_concurrency": 4, "output_throughput": %s, "completed": 8}\n'
TEXTS = {
    "nul": b"\x00\x00\n" + LOG + b"\x00",
    "invalid-utf8": b"\xff\xfe\xed\xa0\x80\n" + LOG + b"\xc3",
    "long-line": b"x" * 10_000_000 + b"\n" + LOG,
    "nested": b'{"backend": "sglang", "x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "nested-open": b'{"a": ' * 10_000,
    "too-large-a-number": RESULT % b"1e400",
    "not-a-number": RESULT % b"NaN",
    "digits": RESULT % (b"9" * 6000),
    "cut": b'{"backend": "sglang", "output_throughput": 1',
}


@pytest.mark.parametrize("at_once", [100_000_000, 10])
@pytest.mark.parametrize("name", TEXTS)
def test_it_is_read_or_refused_in_words(
    member: Client, name: str, at_once: int, settings: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    settings.VAR_DIR, settings.AT_ONCE_BYTES = tmp_path, at_once
    monkeypatch.setattr(import_job, "ring_import", lambda pk: True)
    answer = member.post("/import/", {"file": SimpleUploadedFile(f"{name}.txt", TEXTS[name])})
    page = text(answer)
    assert answer.status_code == 200
    if at_once > 10 and b"Decode batch" in TEXTS[name]:
        assert "1 sample" in page
    if 'name="ticket"' in page:
        assert member.post("/import/", {"ticket": ticket(page)}).status_code == 302
    for job in Import.objects.all():
        perform(job.pk, "worker")
        job.refresh_from_db()
        assert "fault of Throughline" not in job.error
        assert member.get(job.get_absolute_url(), follow=True).status_code == 200
    for run in Run.objects.all():
        assert member.get(run.get_absolute_url()).status_code == 200
        assert member.get(f"/api/v1/runs/{run.pk}/points?thin=4000").status_code == 200
    if b"Decode batch" in TEXTS[name]:
        assert Campaign.objects.count() == 1


@pytest.mark.parametrize("name", TEXTS)
def test_the_command_reads_it_too(name: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_bytes(TEXTS[name])
    call_command("read", str(path))
    call_command("read", str(path), "--json")
    told = capsys.readouterr().out
    assert f"{name}.txt" in told
    if name in ("nested-open", "cut"):
        assert f"{name}.txt, line 1, byte" in told


def test_broken_json_is_explained_on_the_page(
    member: Client, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    page = text(member.post("/import/", {"text": '{"a": 1,\n "b": }'}))
    assert "pasted text, line 2, byte 15: no whole JSON" in page
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = member.post("/import/", {"text": "x" * 5000})
    assert answer.status_code == 413
    assert "choose it as a file" in text(answer)
