"""Whatever comes: nothing raises, nothing is invented, and what was not read is named."""

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.readers import read
from runs.readers.results import (
    FORMATS,
    ResultReading,
    TextResults,
    field_case_row,
    jsondoc,
    read_results,
    read_text,
)
from tests.runs.readers.results.conftest import CASES, read_any

SAMPLES = sorted(
    path
    for folder in ("field", "own", "files")
    for path in (CASES / folder).iterdir()
    if not path.name.endswith(".expect.json")
)
SMALL = [path for path in SAMPLES if path.stat().st_size < 60_000]


def numbers(found: ResultReading) -> set[tuple[object, ...]]:
    """Give every value with the row it is of."""
    told: set[tuple[object, ...]] = set()
    for row in found.rows:
        place = (row.tool, row.name, row.offset)
        told |= {(*place, key, metric.value) for key, metric in row.metrics.items()}
        told |= {(*place, "measured", row.concurrency_measured)} - {(*place, "measured", None)}
    return told


def shown(found: ResultReading) -> str:
    """Render everything, as a page would: strict JSON, and text a database takes."""
    rows = [field_case_row(row) for row in found.rows]
    told = json.dumps([rows, found.context], allow_nan=False, ensure_ascii=False)
    told.encode("utf-8")
    assert "\\u0000" not in told
    return told


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name[:40])
@settings(max_examples=25, deadline=None)
@given(share=st.floats(0, 1))
def test_cutting_anywhere_invents_no_number(path, share: float) -> None:
    data = path.read_bytes()
    cut = data[: int(len(data) * share)]
    whole = read_any(data)
    extra = numbers(read_any(cut)) - numbers(whole)
    # A row that is cut before its tool or arm is told is the same row.
    told = {(each[-3], each[-2], each[-1]) for each in numbers(whole)}
    assert {each for each in extra if (each[-3], each[-2], each[-1]) not in told} == set()


@pytest.mark.parametrize(
    "name",
    ["68-steps-one-two-three-crossover.txt", "65-pandas-grid-table-of-a-sweep.txt"],
)
def test_cutting_a_table_at_every_byte_invents_no_number(name: str) -> None:
    data = (CASES / "field" / name).read_bytes()
    whole = {each[-3:] for each in numbers(read_any(data))}
    for end in range(len(data)):
        assert {each[-3:] for each in numbers(read_any(data[:end]))} <= whole


def test_cutting_a_block_at_every_byte_of_its_end_invents_no_number() -> None:
    data = (CASES / "field" / "10-vllm-bench-serve-with-acceptance.txt").read_bytes()
    whole = {each[-3:] for each in numbers(read_any(data))}
    for end in range(len(data) - 700, len(data)):
        assert {each[-3:] for each in numbers(read_any(data[:end]))} <= whole


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    shown(read_text(data))
    read_results(data)
    for each in FORMATS:
        shown(each.read(data))


_WORDS = st.sampled_from(
    [
        *(
            "============ Serving Benchmark Result ============",
            "Mean TTFT (ms):   1.5  ",
            "| a | b |",
        ),
        *(
            "|---|---|",
            "| conc | off | 1 |",
            "| 1 | 2 | 3 |",
            "Namespace(a=1, b='x",
            "x)",
            "\r 5%|#| 1/2 [",
        ),
        *(
            "{",
            "}",
            '{"output_throughput": 1e400, "backend": "a", "random_range_ratio": NaN}',
            "+-+",
            "+=+",
        ),
        *(
            "┏━┓",
            "┃ Metric ┃ avg ┃ p50 ┃",
            "│ Request Latency (ms) │ 1 │ N/A │",
            "concurrency,output tok/s",
        ),
        *(
            "1,2",
            "= PERFORMANCE OVERVIEW",
            "[TPOT] P50    : 2.0",
            "# run 1",
            "output.error='x'",
            "\0",
            "é",
        ),
        *(
            "vllm bench serve --max-concurrency 4 --num-prompts",
            "Failed requests during benchmark run detected",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(_WORDS, max_size=25), end=st.sampled_from(["", "\n"]))
def test_pieces_of_results_in_any_order_are_read(lines: list[str], end: str) -> None:
    shown(read_any(("\n".join(lines) + end).encode()))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "path", [p for p in SAMPLES if p.suffix in (".json", ".jsonl")], ids=lambda p: p.name[:30]
)
@settings(max_examples=12, deadline=None)
@given(value=_JSON, seed=st.integers(0, 10_000))
def test_any_value_in_any_place_of_a_json_file_is_read(path, value, seed: int) -> None:
    document = json.loads(
        path.read_text().splitlines()[0] if path.suffix == ".jsonl" else path.read_text()
    )
    _replace(document, value, seed)
    shown(read_any(json.dumps(document).encode("utf-8", "replace")))


def _replace(document, value, seed: int) -> None:
    """Put the value at some place two levels deep, which the seed chooses."""
    keys = sorted(document)
    key = keys[seed % len(keys)]
    if isinstance(document[key], dict) and document[key] and seed % 3:
        _replace(document[key], value, seed // 3)
    else:
        document[key] = value


def test_numbers_that_are_none_are_unknown() -> None:
    data = (
        b'{"backend": "sglang", "random_range_ratio": 1e400, "request_rate": Infinity, '
        b'"max_concurrency": 8, "total_output_tokens": 1, "output_throughput": NaN, '
        b'"mean_ttft_ms": 1e400, "mean_tpot_ms": "12.5", "accept_length": true}\n'
    )
    (row,) = read_any(data).rows
    assert (row.value("output_tps"), row.value("ttft_mean")) == (None, None)
    assert row.value("tpot_mean") == pytest.approx(0.0125)
    assert row.value("accept_len_cumulative") is None
    assert row.context["request_rate"] == "inf"


@pytest.mark.parametrize("opening", [b"[", b'{"aggregated_metrics":', b'{"a":['])
def test_nesting_too_deep_is_a_damaged_record(opening: bytes) -> None:
    data = b'{"aggregated_metrics": ' + opening * 10_000
    found = read_any(data)
    assert found.rows == ()
    (damaged,) = found.damaged
    assert damaged.line == 1
    assert "deep" in damaged.reason or "whole" in damaged.reason


def test_a_number_of_ten_thousand_digits_is_a_damaged_record() -> None:
    (damaged,) = read_any(
        b'{"aggregated_metrics": {"run_duration": ' + b"9" * 10_000 + b"}}"
    ).damaged
    assert "line 1" in damaged.reason or "JSON" in damaged.reason


def test_a_document_beyond_the_limit_is_said_and_costs_no_memory(monkeypatch) -> None:
    monkeypatch.setattr(jsondoc, "DOCUMENT_LIMIT", 100_000)
    good = b'{"aggregated_metrics": {"num_concurrency": 2, "num_requests": 5}}\n'
    data = good + b'{"aggregated_metrics": {"x": "' + b"a" * 3_000_000 + b'"}}\n' + good
    tracemalloc.start()
    found = read_any(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row.line for row in found.rows] == [1, 3]
    (damaged,) = found.damaged
    assert (damaged.line, "3 MB" in damaged.reason) == (2, True)
    assert peak < 8_000_000


def test_a_laid_out_document_beyond_the_limit_is_one_damaged_record(monkeypatch) -> None:
    monkeypatch.setattr(jsondoc, "DOCUMENT_LIMIT", 10_000)
    data = json.dumps({"aggregated_metrics": [{"a": 1}] * 2000}, indent=1).encode()
    found = read_any(data)
    (damaged,) = found.damaged
    assert "at most" in damaged.reason


def test_lines_after_a_broken_record_are_read() -> None:
    lines = (CASES / "field" / "07-bench-serving-jsonl-sweep.jsonl").read_bytes().splitlines(True)
    found = read_any(lines[0] + lines[1][:300] + b"\n" + lines[2])
    assert [row.line for row in found.rows] == [1, 3]
    (damaged,) = found.damaged
    assert (damaged.line, damaged.offset) == (2, len(lines[0]))


def test_a_value_that_touches_the_end_is_named() -> None:
    block = b"============ Serving Benchmark Result ============\nMean TTFT (ms):          182.4"
    found = read_text(block)
    assert found.rows[0].metrics == {}
    assert [each.reason for each in found.damaged] == ["the value touches the end of the text"]


def test_interleaved_sources_keep_their_blocks_apart() -> None:
    one = "============ Serving Benchmark Result ============"
    reader = TextResults()
    for number, (source, text) in enumerate(
        [
            ("a", one),
            ("b", one),
            ("a", "Max request concurrency:                 8         "),
            ("b", "Max request concurrency:                 16        "),
            ("a", "[2026-10-28 14:30:02] Decode batch, #running-req: 8"),
            ("b", "Output token throughput (tok/s):         99.00     "),
            ("a", "Output token throughput (tok/s):         55.00     "),
        ],
        start=1,
    ):
        taken = reader.take(text, number * 100, number, source=source)
        assert taken == ("Decode" not in text)
    rows = reader.finish().rows
    assert [(r.concurrency, r.value("output_tps"), r.context["source"]) for r in rows] == [
        (8, 55.0, "a"),
        (16, 99.0, "b"),
    ]


_LONG = 300_000


@pytest.mark.parametrize(
    "line",
    [
        "Mean TTFT (ms): x" + " " * _LONG + "y",
        "Total Latency (ms): x" + " " * _LONG + "y",
        "-" * _LONG + "x",
        "=" * _LONG + " Serving",
        "| " + "- " * _LONG + "|x",
        "|" + "-" * _LONG + " " * _LONG + "|",
        "| a" + " " * _LONG + "(b | c |",
        "concurrency,tok/s" + " " * _LONG + "(ms",
        "Namespace(a=" + "(" * _LONG,
        "Namespace(" + "a='b', " * (_LONG // 7),
        "vllm bench serve " + "--a 'b " * (_LONG // 7),
        "output.error='" + "aaaaaError" * (_LONG // 10),
        "99%|" + "#" * _LONG + "| 1/2 [",
        "# " + "accept len: steps=1 " * (_LONG // 20),
        "a." * _LONG + "Error: ",
        "{" * _LONG,
        '{"a":' * _LONG,
    ],
    ids=lambda line: line[:16],
)
@pytest.mark.parametrize(
    "before",
    ["", "============ Serving Benchmark Result ============\n", "= PERFORMANCE OVERVIEW\n"],
    ids=["bare", "block", "report"],
)
def test_no_long_line_costs_more_than_its_length(line: str, before: str) -> None:
    """Three hundred thousand characters; a pattern that is quadratic would not come back."""
    shown(read_any(f"{before}{line}\n{line}".encode()))


@pytest.mark.parametrize("huge", ["1e308", "-1e308", "1e22", "1e999", "NaN"])
def test_a_number_that_nobody_measures_is_unknown(huge: str) -> None:
    rows = [
        f'{{"tag": "{tag}", "backend": "sglang", "random_range_ratio": 1.0, "max_concurrency": 8, '
        f'"duration": 40.0, "completed": 80, "output_throughput": {huge}, "mean_ttft_ms": {huge}, '
        f'"accept_length": {huge}, "median_ttft_ms": 51.0}}\n'
        for tag in ("off", "off", "steps2", "steps2")
    ]
    told = read("".join(rows).encode(), "x").as_json()
    json.dumps(told, allow_nan=False)
    assert [row["ttft_ms_p50"] for row in told["rows"]] == [51.0] * 4
    for name in ("ttft_ms_mean", "output_tok_per_s", "accept_len"):
        assert [row.get(name) for row in told["rows"]] == [None] * 4


def test_a_name_that_no_database_keeps_is_replaced() -> None:
    path = next(each for each in SAMPLES if each.name == "trtllm-bench-report.json")
    document = json.loads(path.read_text())
    document["performance"] = {**document.get("performance", {}), "\0odd\ud800": 1.5}
    shown(read_any(json.dumps(document).encode()))
