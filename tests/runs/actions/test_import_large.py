"""Logs too long for one transaction: the same rows as of short ones, and never a half campaign."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from runs.actions import import_large, large_log, texts
from runs.actions.import_texts import import_texts
from runs.actions.launch import Refused
from runs.actions.texts import Source
from runs.models import Arm, Campaign, Event, Level, LogStream, Run, Sample, ServerConfig
from tests.signed_in import member, text

__all__ = ["member"]
pytestmark = pytest.mark.django_db
H200 = Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps"
LIVES = Path(__file__).parents[2] / "field_cases" / "25-journald-two-lives-of-a-unit.log"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large, pieces are short, and few records are kept for the rules."""
    monkeypatch.setattr(texts, "LARGE", 1000)
    monkeypatch.setattr(large_log, "PIECE", 2000)
    monkeypatch.setattr(large_log, "KEPT", 300)


def stored() -> dict[str, Any]:
    """What an import left, by arm: samples with their numbers, events, levels, limits."""
    return {
        arm.name: {
            "samples": list(
                Sample.objects.filter(stream__attempt__run__arm=arm).values_list(
                    "seq", "line", "phase", "output_tps", "accept_len", "running", "printed_time"
                )
            ),
            "events": sorted(
                Event.objects.filter(attempt__run__arm=arm, stream__role="server").values_list(
                    "kind", "line"
                )
            ),
            "flags": arm.config.flags,
        }
        for arm in Arm.objects.all()
    }


def both(
    request: pytest.FixtureRequest, import_: Callable[[], Campaign]
) -> tuple[dict[str, Any], dict[str, Any]]:
    import_()
    short = stored()
    Campaign.objects.all().delete()
    request.getfixturevalue("small_pieces")
    import_()
    return short, stored()


def test_two_lives_are_two_arms_however_long_the_log(request: pytest.FixtureRequest) -> None:
    short, long = both(request, lambda: import_texts(sources=[Source("a.log", LIVES)], by=None))
    assert long == short
    assert [len(told["samples"]) for told in long.values()] == [2, 2]
    for stream in LogStream.objects.all():
        assert stream.samples.count() == stream.next_seq - 1
        assert stream.text() == LIVES.read_bytes()
    assert LogStream.objects.filter(text_of=None).count() == 1
    assert not ServerConfig.objects.filter(engine="unknown").exists()  # the holder is gone


def test_a_log_beyond_what_is_kept_is_stored_to_its_end(small_pieces: None) -> None:
    path = H200 / "steps-3.server.log"
    campaign = import_texts(sources=[Source(path.name, path)], by=None)
    assert campaign.importing_since is None
    stream = LogStream.objects.get()
    assert list(stream.samples.values_list("seq", flat=True)) == list(range(1, 566))
    assert stream.samples.filter(phase="decode").count() == 85
    assert stream.text() == path.read_bytes()
    assert stream.attempt.startup["max_running_requests"] == 48


def test_levels_beyond_what_is_kept_have_their_figures(small_pieces: None) -> None:
    paths = [H200 / "steps-3.server.log", H200 / "steps-3.bench.jsonl"]
    import_texts(sources=[Source(path.name, path) for path in paths], by=None)
    level = Level.objects.get(attempt__run__arm__name="steps-3", concurrency=64)
    assert round(level.output_tps or 0) == 4105
    assert 47 <= (level.running_mean or 0) <= 48
    assert 15 <= (level.waiting_mean or 0) <= 17


def test_nothing_is_left_of_an_import_that_fails(
    small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **more: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(import_large, "store_results", broken)
    path = H200 / "steps-1.server.log"
    with pytest.raises(RuntimeError, match="full"):
        import_texts(sources=[Source(path.name, path)], by=None)
    for model in (Campaign, Run, LogStream, Sample, ServerConfig):
        assert not model.objects.exists()


def test_a_large_text_without_a_log_is_refused(small_pieces: None, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("nothing to see here\n" * 1000)
    with pytest.raises(Refused):
        import_texts(sources=[Source("letter.txt", path)], by=None)
    assert not Campaign.objects.exists()


def test_a_half_import_is_hidden_and_the_next_one_removes_it(
    small_pieces: None, member: Client
) -> None:
    half = Campaign.objects.create(question="half of it", importing_since=timezone.now())
    import_large.holder_of(half, None)
    assert "half of it" not in text(member.get("/campaigns/"))
    assert "half of it" not in text(member.get("/"))
    assert import_large.remove_half_imports() == 0  # it may still be going on
    half.importing_since = timezone.now() - 2 * import_large.STALE
    half.save()
    import_texts(sources=[Source("a.log", LIVES)], by=None)
    assert not Campaign.objects.filter(question="half of it").exists()


def test_a_line_of_ten_megabytes_keeps_the_places_behind_it(tmp_path: Path) -> None:
    line = LIVES.read_bytes().splitlines(keepends=True)[3]
    path = tmp_path / "long.log"
    path.write_bytes(b"x" * 10_000_000 + b"\n" + line)
    import_texts(sources=[Source("long.log", path)], by=None)
    sample, stream = Sample.objects.get(), LogStream.objects.get()
    assert (sample.offset, sample.line) == (10_000_001, 2)
    assert stream.damaged == 1
    assert stream.text(sample.offset) == line
    assert max(len(event.text) for event in Event.objects.all()) <= 2000


@pytest.mark.parametrize(
    "rest",
    [
        b"\x00\x00 NUL",
        b"\xff\xfe\xed\xa0\x80",
        "\u202ebidi".encode(),
        b"#retracted_reqs: 99999999999999999999999",
        b'{"a": 1e400, "b": NaN, "c": "\\ud800"}',
    ],
)
def test_bytes_that_no_database_takes_are_stored_all_the_same(tmp_path: Path, rest: bytes) -> None:
    line = LIVES.read_bytes().splitlines(keepends=True)[3]
    path = tmp_path / "bad.log"
    path.write_bytes(b"KV cache pool is full. Retract requests. " + rest + b"\n" + line + rest)
    import_texts(sources=[Source("bad\ud800.log", path)], by=None)
    assert LogStream.objects.get().text() == path.read_bytes()
    assert Sample.objects.count() == 1
