"""Each case is two files: lines as a server prints them, and what must be read from them.

Only the fields that a case names are compared. A new case needs no Python.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from runs.engines.base import Damaged, Event, Record, rank_tags
from runs.engines.sglang.log import LogReader

CASES = Path(__file__).parents[2] / "cases" / "sglang_log"


def read(data: bytes) -> list[Record]:
    reader = LogReader()
    return reader.feed(data) + reader.finish()


def as_expected(record: Record, wanted: dict) -> dict:
    """Cut the record down to what the case names."""
    name = {Damaged: "damaged", Event: "event"}.get(type(record), "sample")
    found = {"record": name, **asdict(record)}
    found["ranks"] = rank_tags(found.get("rank"))
    for inner in ("extras", "data"):
        if inner in wanted and inner in found:
            found[inner] = pick(found[inner], wanted[inner])
    return {key: found.get(key, "absent") for key in wanted}


def pick(found: dict, wanted: dict) -> dict:
    return {
        key: pick(found[key], value) if isinstance(value, dict) else found.get(key, "absent")
        for key, value in wanted.items()
    }


@pytest.mark.parametrize("path", sorted(CASES.glob("*.log")), ids=lambda path: path.stem)
def test_it_reads_the_case(path: Path) -> None:
    wanted = json.loads(path.with_suffix(".json").read_text())["records"]
    found = read(path.read_bytes())
    pairs = list(zip(found, wanted, strict=False))
    assert [as_expected(record, want) for record, want in pairs] == [want for _, want in pairs]
    assert len(found) == len(wanted), found


def test_the_cases_are_there() -> None:
    assert len(list(CASES.glob("*.json"))) == len(list(CASES.glob("*.log"))) >= 80
