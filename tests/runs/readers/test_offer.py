"""What a text proposes to compare next."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runs.readers import read

CASES = Path("tests/field_cases")
# Words of the proposal that each case asks for, in order.
WANTED = {
    "25": r"steps=1.*steps=3",
    "38": r"graphs captured up to 53.*at most 24",
    "49": r"Flush the cache.*seed",
    "50": r"bands of tokens per request",
    "55": r"log inside the run's window.*restart",
    "56": r"closed loop",
    "68": r"one line for each number of steps",
    "70": r"/server_info.*start time and process",
    "71": r"from 11:10 on.*cooled",
    "73": r"several client processes.*another node",
    "74": r"More repeats",
}
EXPECTED = sorted(CASES.glob("*.expect.json"))


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name[:2])
def test_a_case_that_asks_for_a_comparison_gets_it(path: Path) -> None:
    case = json.loads(path.read_text())
    number = path.name[:2]
    assert ("offer" in case) == (number in WANTED)
    if number in WANTED:
        told = read((CASES / case["input"]).read_bytes(), case["input"]).as_json()["offer"]
        assert isinstance(told, str) and re.search(WANTED[number], told)


def test_a_plain_log_asks_for_nothing() -> None:
    told = read((CASES / "01-sglang-plain-decode.log").read_bytes(), "plain").as_json()
    assert "offer" not in told
