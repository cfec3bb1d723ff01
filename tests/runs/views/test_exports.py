"""Files of a comparison: of now for the team, of the frozen copy for a link's reader."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from runs.models import Arm, Note, ShareLink
from tests.factories import make_host, make_level, make_note, make_run, make_samples
from tests.runs.views.test_share import ALLOWED, CANARY, arms, note_on_the_comparison, share
from tests.signed_in import text

pytestmark = pytest.mark.django_db
SUFFIXES = ["md", "csv", "json"]

__all__ = ["arms"]  # a fixture


def address(arms: tuple[Arm, Arm], suffix: str) -> str:
    return f"/compare/export.{suffix}?arms={arms[0].pk}~{arms[1].pk}"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_it_is_a_file_that_no_browser_shows(
    member: Client, arms: tuple[Arm, Arm], suffix: str
) -> None:
    answer = member.get(address(arms, suffix))
    name = f"comparison-{arms[0].pk}-{arms[1].pk}.{suffix}"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert f"http://testserver/compare/?arms={arms[0].pk}~{arms[1].pk}" in text(answer)


def test_all_formats_hold_the_same_figures(member: Client, arms: tuple[Arm, Arm]) -> None:
    told = json.loads(text(member.get(address(arms, "json"))))
    rows = list(csv.DictReader(io.StringIO(text(member.get(address(arms, "csv"))))))
    markdown = text(member.get(address(arms, "md")))
    page = text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))
    (pair,) = told["pairs"]
    assert [float(row["output (tok/s), arm"]) for row in rows] == [
        row["output"]["after"] for row in pair["rows"]
    ]
    assert pair["sentence"] in markdown and pair["sentence"] in page
    assert [row["verdict"] for row in rows] == [row["word"] for row in pair["rows"]]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_export_tells_no_more_than_the_allow_list(
    member: Client, arms: tuple[Arm, Arm], suffix: str
) -> None:
    note_on_the_comparison(arms)
    make_note("canary-host-note", host=make_host("canary-host"))
    told = set(CANARY.findall(text(member.get(address(arms, suffix)))))
    # a person's own export also holds what was noted on its arms; never on runs, hosts and keys
    assert told <= {*ALLOWED, "canary-arm-note"}
    assert ("canary-arm-note" in told) == (suffix != "csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_reader_of_a_link_gets_the_frozen_copy(
    member: Client, stranger: Client, arms: tuple[Arm, Arm], suffix: str
) -> None:
    note_on_the_comparison(arms)
    path = share(member, arms)
    before = text(stranger.get(f"{path}export.{suffix}"))
    for level in arms[1].runs.get().attempts.get().levels.all():
        level.output_tps = 4321.0
        level.save()
    Note.objects.all().delete()
    answer = stranger.get(f"{path}export.{suffix}?arms=1~2")
    assert text(answer) == before and "4321" not in before
    assert f"http://testserver{path}" in before
    assert set(CANARY.findall(before)) <= ALLOWED
    assert not answer.cookies
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_export_ends_with_its_link(
    member: Client, stranger: Client, arms: tuple[Arm, Arm], suffix: str
) -> None:
    path = f"{share(member, arms)}export.{suffix}"
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert stranger.get(path).status_code == 410
    ShareLink.objects.update(
        expires_at=timezone.now() + timedelta(days=1), revoked_at=timezone.now()
    )
    gone, unknown = stranger.get(path), stranger.get(f"/s/never-made/export.{suffix}")
    assert (gone.status_code, unknown.status_code) == (410, 404)
    assert text(gone) == text(unknown)


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_an_export_is_only_read(member: Client, arms: tuple[Arm, Arm], method: str) -> None:
    path = f"{share(member, arms)}export.md"
    assert getattr(Client(enforce_csrf_checks=True), method)(path).status_code == 405


def test_a_stranger_gets_nothing_of_now(stranger: Client, arms: tuple[Arm, Arm]) -> None:
    assert stranger.get(address(arms, "json")).status_code == 302


def test_what_is_no_format_or_no_arm_is_not_found(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert member.get(address(arms, "xlsx")).status_code == 404
    assert member.get("/compare/export.md?arms=999999").status_code == 404
    assert member.get("/compare/export.md").status_code == 404


def test_the_menu_has_an_address_for_each(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    page = text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))
    path = share(member, arms)
    shared = text(stranger.get(path))
    for suffix in SUFFIXES:
        assert f'href="{address(arms, suffix)}"' in page
        assert f'href="{path}export.{suffix}"' in shared


def test_a_copy_of_the_first_version_still_opens_and_exports(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    link = ShareLink.objects.get()
    old = link.snapshot
    old["version"] = 1
    for name in ("schema", "smoke_test", "chips"):
        del old[name]
    for arm in old["arms"]:
        for name in ("levels", "command", "log", "covered", "missing", "left_out"):
            del arm[name]
    for pair in old["pairs"]:
        del pair["why"]
        for row in pair["rows"]:
            for name in ("verdict", "metric", "remark"):
                del row[name]
    for caveat in old["caveats"]:
        for name in ("slug", "metric", "measured", "tests"):
            del caveat[name]
    link.snapshot = old
    link.save()
    assert stranger.get(path).status_code == 200
    for suffix in SUFFIXES:
        assert "900" in text(stranger.get(f"{path}export.{suffix}"))


def test_a_failed_launch_tells_its_reason_in_known_words(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    make_run(
        arms[1],
        state="failed",
        reason_text="canary-user: TypeError in /home/canary-path: NoneType, exit code 137",
    )
    told = text(member.get(address(arms, "md")))
    assert "the server died (TypeError, NoneType, exit code 137)" in told
    assert "canary-user" not in told and "canary-path" not in told


def test_the_ledger_is_in_the_exports(member: Client, arms: tuple[Arm, Arm]) -> None:
    for arm, (tps, length) in zip(arms, ((1600.0, 1.9), (1900.0, 2.6)), strict=True):
        attempt = arm.runs.get().attempts.get()
        make_level(attempt, 16, tps * 0.98, started=1000.0, ended=1100.0)
        make_samples(attempt.streams.get(), [tps] * 90, began=1005.0, accept_len=length)
    pair = json.loads(text(member.get(address(arms, "json"))))["pairs"][0]
    (level,) = [each for each in pair["why"]["levels"] if each["bars"]]
    assert level["concurrency"] == 16
    assert level["break_even"] == pytest.approx(2.6 * 1600 / 1900)
    assert "1.90 → 2.60 (+36.8 %)" in text(member.get(address(arms, "md")))


def test_every_field_of_the_json_is_documented(member: Client, arms: tuple[Arm, Arm]) -> None:
    note_on_the_comparison(arms)
    make_run(arms[1], state="failed")
    told = json.loads(text(member.get(address(arms, "json"))))
    for arm in told["arms"]:
        arm["workload"] = arm["flags"] = {}  # named as the engine names them
    for caveat in told["caveats"]:
        for each in caveat["measured"]:
            each["values"] = {}
    words = (Path(settings.BASE_DIR) / "docs" / "exports.md").read_text()
    spans = " ".join(re.findall(r"`([^`]+)`", words))
    documented = set(re.findall(r"[a-z][a-z_0-9]*", spans))
    points = {
        "c",
        "output",
        "low",
        "high",
        "user",
        "gpu",
        "accept",
        "steps",
        "even",
        "launches",
    }  # of a series, whatever charts need
    places = {"letter", "x", "value"}  # of a dot
    assert fields(told) - documented - points - places == set()


def fields(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(fields, value.values()))
    return set().union(*map(fields, value)) if isinstance(value, list) else set()
