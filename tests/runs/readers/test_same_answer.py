"""Every field case in every carrier gives the same answer, not only the same samples."""

import pytest

from runs.readers import read
from tests.runs.readers.test_variants import CARRIERS, FIELD, folded

CASES = [path for path in sorted(FIELD.iterdir()) if path.suffix in (".log", ".txt")]
# Where in the text a thing stands, who carried it, what the carrier names it.
_PLACE = ("offset", "line", "source", "process", "process_pid", "ts", "label", "tag", "settings")
_OF_CARRIER = {"timezone-offset", "clock-skew", "date-missing", "year-inferred", "truncated-lines"}
# Around a text that has a carrier of its own, or is drawn as a table, nobody puts these.
_NOT_AROUND = {
    "numbered": CASES,
    "bars": [path for path in CASES if path.name[:2] in ("25", "26", "31", "64", "65", "68")],
    "compose by name": [
        path for path in CASES if path.name[:2] in ("25", "26", "43", "64", "65", "68", "71")
    ],
    **{
        name: [path for path in CASES if path.name[:2] == "35"]
        for name in CARRIERS
        if "json" in name
    },
}


def answer(data: bytes) -> dict[str, object]:
    told = read(data, "x").as_json()

    def plain(name: str) -> list[dict]:
        return [
            {key: value for key, value in each.items() if key not in _PLACE}
            for each in told.get(name, [])
        ]

    return {
        "kind": told["kind"],
        "samples": plain("samples"),
        "rows": plain("rows"),
        "requests": plain("requests"),
        "events": told.get("events"),
        "caveats": set(told["caveats"]) - _OF_CARRIER,
        "context": {
            key: value
            for key, value in told["context"].items()
            if key not in ("carrier", "hosts", "pids")
        },
        "rejected": told.get("rejected_lines"),
        "segments": [
            {key: value for key, value in each.items() if key not in ("source", "pid", "label")}
            for each in told.get("segments", [])
        ],
    }


@pytest.mark.parametrize("carrier", [each for each in CARRIERS if each != "numbered"])
def test_a_carrier_changes_nothing_of_the_answer(carrier: str) -> None:
    for path in CASES:
        if path not in _NOT_AROUND.get(carrier, []):
            data = path.read_bytes()
            assert answer(CARRIERS[carrier](data)) == answer(data), path.name


# Colour codes take no room on a screen; a table folded by a terminal is one no more.
UNFOLDED = ("11", "28", "31", "64", "65", "68", "71")


@pytest.mark.parametrize("width", [80, 100, 120, 132, 160])
def test_a_fold_changes_nothing_of_the_answer(width: int) -> None:
    for path in CASES:
        if path.name[:2] not in UNFOLDED:
            data = path.read_bytes()
            assert answer(folded(width)(data)) == answer(data), path.name


@pytest.mark.parametrize(
    "prefix",
    [b"Nov 29 16:01:02 gpu-7 sglang[43]: ", b"server-1  | ", b"[server]   | ", b"> "],
)
@pytest.mark.parametrize("width", [80, 120, 160])
def test_a_terminal_folds_the_prefix_with_the_line(prefix: bytes, width: int) -> None:
    line = next(FIELD.glob("02-*.log")).read_bytes().split(b"\n")[-2]
    data = (prefix + line + b"\n") * 3
    assert answer(folded(width)(data))["samples"] == answer((line + b"\n") * 3)["samples"]
