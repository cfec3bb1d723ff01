"""Whatever the reader finds in the field cases can be kept."""

import json
from pathlib import Path

import pytest

from runs.actions.import_reading import import_reading
from runs.models import Sample
from runs.readers import read

FIELD = Path(__file__).parents[2] / "field_cases"
CASES = [json.loads(path.read_text()) for path in sorted(FIELD.glob("*.expect.json"))]


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_it_becomes_a_campaign_with_all_its_samples(case: dict) -> None:
    data = (FIELD / case["input"]).read_bytes()
    reading = read(data, case["input"])
    json.dumps(reading.as_json(), allow_nan=False)
    if not reading.samples and not reading.rows:
        return
    campaign = import_reading(reading=reading, data=data, by=None)
    arms = len({row.arm for row in reading.rows}) or 1
    assert Sample.objects.count() == arms * len(reading.samples)
    kept = set(campaign.runs.values_list("caveats__slug", flat=True)) - {None}
    assert {each.slug for each in reading.caveats} == kept
