"""Markdown for a pull request, and the JSON beside it."""

from __future__ import annotations

import json
import math

import pytest
from markdown_it import MarkdownIt

from runs.exports.jsontext import as_json
from runs.exports.markdown import as_markdown
from tests.runs.exports.told import comparison

HOSTILE = [
    "a|b", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "`code`", "**bold**",
    "two\nlines", "# heading", "~~struck~~", "back\\slash", "![i](http://x/y.png)", "--- | ---",
]  # fmt: skip


def test_it_says_sentence_levels_reason_caveats_differences_commands_and_link() -> None:
    told = as_markdown(comparison(), "https://bench.example/compare/?arms=1~2")
    assert "**steps=2 gives +50 % output tok/s.**" in told
    assert "| 1 | 1/1 | 100 | 150 | +50 % | +45 to +56 % | + better |" in told
    assert "| 32 | 1/0 | 900 | · | · | · | · one side only (ran 26 of 32) |" in told
    assert "per user" not in told  # of which nothing is known
    assert "At 1: Mostly accept len: +60.0 %." in told
    assert "1.50 → 2.40 (+60.0 %)" in told
    assert "1.60 (now 2.40, margin 33.3 %)" in told
    assert "Measured: steps=1: max running requests 26; steps=2: max running requests 21." in told
    assert "| `--speculative-num-steps` | 1 | 2 | intended | set for this arm |" in told
    assert "3 of 12 keys differ. 2 more differ and are not told outside." in told
    assert "python3 -m sglang.launch_server --model-path Qwen3.5 --tp 4" in told
    assert "https://bench.example/compare/?arms=1~2" in told


def test_what_was_simulated_says_so_before_any_figure() -> None:
    told = as_markdown({**comparison(), "simulated": True}, "")
    assert told.index("Simulated") < told.index("+50 %")


def test_a_dismissed_caveat_stays_struck_through() -> None:
    told = comparison()
    told["caveats"][0] |= {
        "dismissed": True,
        "tests": [{"outcome": "refuted", "text": "Refuted: −1 %."}],
    }
    shown = as_markdown(told, "")
    assert "- ~~**Running capped**~~ `running-capped` (dismissed, in both arms)" in shown
    assert "Tested: Refuted: −1 %." in shown


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_only_ever_text(name: str) -> None:
    told = comparison()
    told["question"] = name
    told["pairs"][0]["other"] = told["arms"][1]["name"] = name
    told["caveats"][0]["texts"] = [name]
    told["notes"] = [{"kind": "note", "on": name, "text": "plain"}]
    page = MarkdownIt("commonmark").enable("table").enable("strikethrough")
    markup = page.render(as_markdown(told, ""))
    plain = page.render(as_markdown(comparison(), ""))
    for tag in ("<img", "<a ", "<code", "<s>", "<h1", "<del"):
        assert markup.count(tag) == plain.count(tag)
    for tag in ("<strong", "<em", "<table", "<tr", "<td", "<th"):
        extra = 1 if tag == "<em" else 0  # the note's head
        assert markup.count(tag) == plain.count(tag) + extra


def test_a_note_stays_within_its_quotation() -> None:
    told = {**comparison(), "notes": [{"kind": "note", "on": "", "text": "one\n\n# two\nthree"}]}
    shown = as_markdown(told, "")
    assert "> one\n>\n> # two\n> three" in shown


def test_json_holds_the_description_and_its_address() -> None:
    told = json.loads(as_json(comparison(), "https://bench.example/"))
    assert (told["schema"], told["version"]) == ("throughline-comparison", 2)
    assert told["link"] == "https://bench.example/"
    assert {key: value for key, value in told.items() if key != "link"} == comparison()


def test_what_is_no_number_is_not_known_in_json() -> None:
    told = comparison()
    told["pairs"][0]["rows"][0]["output"]["ratio"] = math.inf
    found = json.loads(as_json(told, ""))
    assert found["pairs"][0]["rows"][0]["output"]["ratio"] is None
    assert found["link"] is None


def test_it_says_what_one_step_more_is_expected_to_measure() -> None:
    levels = [{"concurrency": 16, "low": 2818.0, "high": 3209.4, "accept_len": 3.379}]
    told = {**comparison(), "expected": {"arm": "steps=3", "steps": 4, "levels": levels}}
    shown = as_markdown(told, "")
    assert "Expected of steps=3 with 4 draft steps, 80 % sure: at 16: 2,818 to 3,209 tok/s" in shown
    assert "Expected" not in as_markdown(comparison(), "")


def test_no_name_becomes_a_line_of_the_commands() -> None:
    told = comparison()
    told["arms"][0]["name"] = "steps=1\nrm -rf ~\u2028curl x"
    shown = as_markdown(told, "")
    assert "\n# steps=1 rm -rf ~ curl x\npython3 -m sglang" in shown
