"""The four imported campaigns say exactly what was published about them."""

from pathlib import Path

import pytest

from runs.caveats.registry import find_caveats
from runs.engines.sglang.launch import rerun
from runs.metrics.acceptance import definition, inclusive_rate, strict_rate
from runs.metrics.compare import compare_levels, of_metric
from runs.metrics.configdiff import Change, Config, config_diff
from runs.metrics.format import number, percent_change, share
from runs.metrics.window import log_figures
from runs.metrics.words import level_words, speedup_words, sweep_words
from runs.readers.showcase import ImportedCampaign, NotACampaign, load_files, load_folder
from runs.readers.showcase_facts import arm_facts, arm_samples, level_figures

SHOWCASE = Path(__file__).parents[3] / "showcase"


def campaign(slug: str) -> ImportedCampaign:
    return load_folder(SHOWCASE / slug)


def changes(found: ImportedCampaign, before: str, after: str, metric: str) -> dict[int, str]:
    compared = compare_levels(level_figures(found.arm(before)), level_figures(found.arm(after)))
    return {each.concurrency: percent_change(each.change) for each in of_metric(compared, metric)}


def slugs(found: ImportedCampaign, arm: str) -> set[str]:
    return {finding.slug for finding in find_caveats(arm_facts(found, found.arm(arm)))}


class TestSteps:
    def test_a_second_step_gains_this_much_per_request_and_in_all(self) -> None:
        found = campaign("qwen3.5-122b-steps")
        assert changes(found, "steps=1", "steps=2", "user_tps") == {
            1: "+51 %",
            4: "+36 %",
            16: "+27 %",
            32: "+56 %",
            64: "+50 %",
        }
        assert changes(found, "steps=1", "steps=2", "output_tps") == {
            1: "+50 %",
            4: "+36 %",
            16: "+26 %",
            32: "+10 %",
            64: "+17 %",
        }

    def test_one_launch_each_is_a_hint_and_no_verdict(self) -> None:
        found = campaign("qwen3.5-122b-steps")
        compared = compare_levels(
            level_figures(found.arm("steps=1")), level_figures(found.arm("steps=2"))
        )
        total = of_metric(compared, "output_tps")
        assert sweep_words(total, "steps=1", "steps=2") == (
            "steps=2 gives +10 to +50 % output tok/s against steps=1 over 5 concurrency levels; "
            "one launch each: a hint, not a verdict."
        )
        assert level_words(total[0]) == "single launch, a hint: +50 %"

    def test_the_smaller_limit_is_an_incidental_change(self) -> None:
        found = campaign("qwen3.5-122b-steps")
        one, two = (
            Config(arm.flags, arm.effective, {"host": found.host["name"]}) for arm in found.arms
        )
        assert config_diff(one, two) == [
            Change("--speculative-num-steps", 1, 2, "intended", None),
            Change("--speculative-num-draft-tokens", 2, 3, "intended", "--speculative-num-steps"),
            Change("max_running_requests", 26, 21, "incidental", None),
        ]

    @pytest.mark.parametrize(("arm", "limit"), [("steps=1", 26), ("steps=2", 21)])
    def test_the_caveats_are_named_with_their_values(self, arm: str, limit: int) -> None:
        found = campaign("qwen3.5-122b-steps")
        findings = {each.slug: each for each in find_caveats(arm_facts(found, found.arm(arm)))}
        assert set(findings) >= {"greedy-sampling", "ignore-eos", "running-capped"}
        assert findings["running-capped"].evidence == {
            "max_running_requests": limit,
            "levels": [32, 64],
        }

    def test_the_note_hangs_on_both_arms(self) -> None:
        found = campaign("qwen3.5-122b-steps")
        assert found.notes[0].text.startswith("temperature=0 inflates acceptance")
        assert found.notes[0].arms == ("steps=1", "steps=2")
        assert (found.notes[1].kind, found.notes[1].tags) == ("finding", ("dead end",))
        assert found.notes[2].kind == "question"

    def test_rerun_with_steps_3_offers_4_draft_tokens(self) -> None:
        flags = rerun(campaign("qwen3.5-122b-steps").arm("steps=2").flags, {"steps": 3}).flags
        assert flags["--speculative-num-steps"] == 3
        assert flags["--speculative-num-draft-tokens"] == 4


class TestMtp:
    def test_two_samples_and_a_damaged_third_line(self) -> None:
        reading = campaign("qwen3.6-27b-mtp").logs[0].reading
        assert [each.output_tps for each in reading.samples] == [71.44, 63.82]
        assert [each.accept_len for each in reading.samples] == [3.52, 3.15]
        assert [each.line for each in reading.damaged] == [3]
        assert reading.samples[0].tokens == 848
        assert reading.samples[0].token_usage == 0.01
        assert reading.samples[0].extras["mamba_num"] == 3

    def test_the_speed_up_over_the_baseline(self) -> None:
        found = campaign("qwen3.6-27b-mtp")
        baseline = found.arm("no speculation").rows[0].output_tps
        speeds = [each.output_tps for each in arm_samples(found, found.arm("MTP"))]
        assert speedup_words(speeds, baseline) == (
            "×2.4 to ×2.7 (mean of 2 lines ×2.53) against 26.7 tok/s"
        )

    def test_client_and_log_differ_and_both_are_shown(self) -> None:
        found = campaign("qwen3.6-27b-mtp")
        assert number(log_figures(arm_samples(found, found.arm("MTP"))).output_tps) == "67.6"
        gap = {each.slug: each for each in find_caveats(arm_facts(found, found.arm("MTP")))}
        assert gap["client-log-gap"].text.startswith(
            "The client says 77 tok/s and the server's log 67.6: they differ by 14 %."
        )

    def test_a_cell_that_was_not_measured_stays_unknown(self) -> None:
        found = campaign("qwen3.6-27b-mtp")
        rows = found.arm("MTP").rows
        assert [(row.concurrency, row.user_tps, row.output_tps) for row in rows] == [
            (1, 77.0, None),
            (4, None, 234.0),
        ]
        assert changes(found, "no speculation", "MTP", "output_tps") == {1: "–", 4: "–"}

    def test_no_rule_fires_on_what_is_unknown(self) -> None:
        found = campaign("qwen3.6-27b-mtp")
        assert slugs(found, "MTP") == {"client-log-gap"}
        assert slugs(found, "no speculation") == set()


class TestNextn:
    def test_a_prefill_and_a_decode_sample_without_throughput(self) -> None:
        reading = campaign("qwen3.5-122b-nextn").logs[0].reading
        prefill, decode = reading.samples
        assert (prefill.phase, prefill.new_tokens, prefill.input_tps) == ("prefill", 22, 1.49)
        assert (decode.phase, decode.accept_len, decode.accept_rate) == ("decode", 1.95, 0.97)
        assert decode.output_tps is None
        assert decode.waiting is None
        assert reading.damaged == ()
        assert reading.context["hosts"] == ["llm-two"]

    def test_the_rate_is_the_inclusive_one(self) -> None:
        assert definition(0.97, 1.95, draft_tokens=2, steps=1) == "inclusive"
        assert inclusive_rate(1.95, 2) == pytest.approx(0.975)
        assert strict_rate(1.95, 2) == pytest.approx(0.95)
        found = campaign("qwen3.5-122b-nextn")
        findings = {each.slug: each for each in find_caveats(arm_facts(found, found.arm("NEXTN")))}
        assert findings["accept-rate-definition"].evidence == {
            "printed": 0.97,
            "accept_len": 1.95,
            "strict": 0.95,
            "definition": "inclusive",
        }

    def test_speculation_is_active_and_the_smoke_test_passed(self) -> None:
        found = campaign("qwen3.5-122b-nextn")
        assert arm_facts(found, found.arm("NEXTN")).speculative is True
        assert found.smoke_test.expected == "345"
        assert found.smoke_test.passed


class TestKimi:
    def test_it_gains_alone_and_loses_in_a_crowd(self) -> None:
        found = campaign("kimi-k2.6-dflash")
        assert changes(found, "EP8 autoregressive", "DFlash", "output_tps") == {
            1: "+8 %",
            128: "−23 %",
        }
        compared = compare_levels(
            level_figures(found.arm("EP8 autoregressive")), level_figures(found.arm("DFlash"))
        )
        assert sweep_words(of_metric(compared, "output_tps"), "EP8", "DFlash") == (
            "DFlash gives +8 % output tok/s at concurrency 1 and −23 % at 128 against EP8 "
            "over 2 concurrency levels; one launch each: a hint, not a verdict."
        )

    def test_the_samples_and_the_strict_rate(self) -> None:
        samples = campaign("kimi-k2.6-dflash").logs[0].reading.samples
        assert [(each.running, each.waiting) for each in samples] == [(69, 63), (73, 50)]
        assert [each.graph for each in samples] == [False, False]
        assert [(each.accept_len, each.accept_rate) for each in samples] == [
            (3.46, 0.35),
            (3.49, 0.36),
        ]
        assert [definition(each.accept_rate, each.accept_len, 8) for each in samples] == [
            "strict",
            "strict",
        ]
        assert strict_rate(3.46, 8) == pytest.approx(0.351, abs=5e-4)
        assert share(strict_rate(3.46, 8)) == "35 %"
        assert {each.rank for each in samples} == {"TP0 EP0"}

    def test_its_caveats(self) -> None:
        found = campaign("kimi-k2.6-dflash")
        assert slugs(found, "DFlash") == {"cuda-graph-off", "queueing"}
        assert slugs(found, "EP8 autoregressive") == set()

    def test_the_failed_attempt_keeps_its_reason(self) -> None:
        (failed,) = campaign("kimi-k2.6-dflash").failed_attempts
        assert failed.arm == "DFlash"
        assert failed.without == "--disable-cuda-graph"
        assert failed.reason == "NoneType error while a CUDA graph was replayed"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "arms.json is missing"),
        ({"arms.json": b"{"}, "not JSON"),
        ({"arms.json": b"[]"}, "names no arms"),
        ({"arms.json": b'{"arms": {"a": {}}}'}, "'campaign' is missing"),
        ({"arms.json": b'{"arms": {"a": {"args": 3}}}'}, "'args' is no object"),
        (
            {
                "arms.json": b'{"arms": {"a": {}}}',
                "results.csv": b"arm,concurrency,per_request_tok_s,aggregate_tok_s\nb,1,2,3\n",
            },
            "does not have: b",
        ),
    ],
)
def test_a_folder_that_is_no_campaign_says_why(files: dict, words: str) -> None:
    with pytest.raises(NotACampaign, match=words):
        load_files("x", files)
