"""Whatever the reader finds in the field cases can be kept."""

import json
from pathlib import Path

import pytest

from runs.actions.import_texts import import_texts
from runs.actions.launch import Refused
from runs.actions.texts import Source
from runs.models import Event, Level, LogStream, Sample
from runs.readers import read

CASES = Path(__file__).parents[2] / "field_cases"
OTHERS = Path(__file__).parents[2] / "cases"
FILES = [
    *sorted(
        path.with_name(json.loads(path.read_text())["input"])
        for path in CASES.glob("*.expect.json")
    ),
    *sorted((OTHERS / "real_logs").glob("*.log")),
    *(
        p
        for p in sorted((OTHERS / "results").rglob("*"))
        if p.is_file() and ".expect." not in p.name
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_everything_that_was_read_is_stored(path: Path) -> None:
    reading = read(path.read_bytes(), path.name)
    json.dumps(reading.as_json(), allow_nan=False)
    try:
        campaign = import_texts(sources=[Source(path.name, path)], by=None)
    except Refused:
        assert not reading.samples and not reading.rows and not reading.requests
        return
    assert Sample.objects.count() == len(reading.samples) + len(reading.requests)
    in_log = Event.objects.exclude(stream=None)
    assert in_log.exclude(kind="damaged").count() == len(reading.events)
    kept = set(campaign.runs.values_list("caveats__slug", flat=True)) - {None}
    assert {each.slug for each in reading.caveats} <= kept
    for stream in LogStream.objects.all():
        numbers = list(stream.samples.values_list("seq", flat=True))
        assert numbers == list(range(1, stream.next_seq))
    whole = LogStream.objects.get(text_of=None)
    assert len(whole.text()) == path.stat().st_size


@pytest.mark.django_db
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_row_with_a_concurrency_is_a_level_or_an_attempt_at_one(path: Path) -> None:
    reading = read(path.read_bytes(), path.name)
    if not reading.rows:
        return
    import_texts(sources=[Source(path.name, path)], by=None)
    told = [
        level.concurrency
        for level in Level.objects.all()
        for _ in range(1 + len(level.summary.get("attempts", [])))
    ]
    asked = [row.concurrency for row in reading.rows if row.concurrency is not None]
    assert sorted(told) == sorted(asked)
