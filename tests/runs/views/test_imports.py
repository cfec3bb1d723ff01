"""Reading a text: what is found is shown first, and kept only when somebody says so."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from runs import pending
from runs.models import Campaign, LogStream, Sample
from runs.readers import read
from runs.views.imports import counts_of, found
from tests.factories import make_person
from tests.signed_in import text

LOG = (
    b"[2026-05-09 20:35:27] Decode batch, #running-req: 1, #token: 848, token usage: 0.01, "
    b"accept len: 3.52, accept rate: 0.84, cuda graph: True, gen throughput (token/s): 71.44, "
    b"#queue-req: 0\n"
    b"something else\n"
    b"[2026-05-09 20:35:31] Decode batch, #run...\n"
)
TABLE = (
    b"arm,concurrency,per_request_tok_s,aggregate_tok_s\n"
    b"steps=1,1,123,122\nsteps=2,1,186,183\nsteps=2,4,,543\n"
)


@pytest.fixture(autouse=True)
def _own_folder(settings: object, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]


def ticket(page: str) -> str:
    return re.search(r'name="ticket" value="([^"]+)"', page).group(1)


def test_a_pasted_log_shows_its_samples_and_what_is_damaged(member: Client) -> None:
    page = text(member.post("/import/", {"text": LOG.decode()}))
    assert re.search(r"1 sample, <span class=\"fail\">1 damaged", page)
    for words in (
        "71.44",
        "3.52",
        "0.84",
        "#run...",
        "1 other line ignored",
        "Nothing is kept yet",
    ):
        assert words in page
    assert "something else" in page  # what was typed stays
    assert not Campaign.objects.exists()


def test_a_table_as_a_file_shows_its_rows(member: Client) -> None:
    file = SimpleUploadedFile("results.csv", TABLE)
    page = text(member.post("/import/", {"text": "", "file": file}))
    assert "3 results" in page
    assert "results.csv" in page
    assert "543" in page


def test_a_text_that_holds_nothing_is_said_and_cannot_be_kept(member: Client) -> None:
    page = text(member.post("/import/", {"text": "hello\n"}))
    assert "holds no sample and no result" in page
    assert "ticket" not in page


@pytest.mark.parametrize("told", [{}, {"text": "  "}])
def test_nothing_to_read_is_refused(member: Client, told: dict[str, str]) -> None:
    answer = member.post("/import/", told)
    assert answer.status_code == 422
    assert "Paste a text or choose files." in text(answer)


def test_both_at_once_are_refused_and_the_text_stays(member: Client) -> None:
    file = SimpleUploadedFile("results.csv", TABLE)
    answer = member.post("/import/", {"text": "my log", "file": file})
    assert answer.status_code == 422
    assert "not both" in text(answer)
    assert "my log" in text(answer)


def test_a_file_that_is_too_large_is_refused(member: Client, settings: object) -> None:
    settings.UPLOAD_LIMIT_BYTES = 10  # type: ignore[attr-defined]
    answer = member.post("/import/", {"file": SimpleUploadedFile("big.log", LOG)})
    assert answer.status_code == 422
    assert "Cut it into parts" in text(answer)


def test_a_confirmed_log_becomes_a_campaign_with_the_whole_text(member: Client) -> None:
    page = text(member.post("/import/", {"text": LOG.decode()}))
    answer = member.post("/import/", {"ticket": ticket(page)})
    campaign = Campaign.objects.get()
    assert answer["Location"] == campaign.get_absolute_url()
    assert Sample.objects.get().output_tps == 71.44
    assert LogStream.objects.get().text() == LOG
    assert member.get(campaign.get_absolute_url()).status_code == 200


def test_a_confirmed_table_becomes_a_grid(member: Client) -> None:
    file = SimpleUploadedFile("results.csv", TABLE)
    page = text(member.post("/import/", {"file": file}))
    member.post("/import/", {"ticket": ticket(page)})
    page = text(member.get(Campaign.objects.get().get_absolute_url()))
    assert "+50 %" in page
    assert "not measured" in page


def test_the_kept_text_is_thrown_away_once_confirmed(member: Client) -> None:
    page = text(member.post("/import/", {"text": LOG.decode()}))
    member.post("/import/", {"ticket": ticket(page)})
    again = member.post("/import/", {"ticket": ticket(page)})
    assert again.status_code == 410
    assert "no longer here" in text(again)
    assert Campaign.objects.count() == 1


def test_a_text_is_for_the_person_who_read_it(member: Client) -> None:
    kept = pending.keep([("log", [LOG])], make_person("somebody-else"))
    assert member.post("/import/", {"ticket": kept.ticket}).status_code == 410


@pytest.mark.parametrize("forged", ["", "x", "../../etc/passwd"])
def test_a_forged_ticket_opens_nothing(member: Client, forged: str) -> None:
    assert member.post("/import/", {"ticket": forged}).status_code == 410


def test_a_secret_in_a_damaged_line_is_not_shown(member: Client) -> None:
    log = LOG + b"[2026-05-09 20:35:33] Decode batch, --api-key sk-abcdefghij0123456789 #run...\n"
    page = text(member.post("/import/", {"file": SimpleUploadedFile("a.log", log)}))
    assert "sk-abcdefghij0123456789" not in page


def test_a_mean_over_lines_of_several_levels_says_so(member: Client) -> None:
    two = LOG + LOG.replace(b"#running-req: 1,", b"#running-req: 48,")
    page = text(member.post("/import/", {"text": two.decode()}))
    assert "over lines with 1 to 48 running: the speed of no level" in page
    assert "the speed of no level" not in text(member.post("/import/", {"text": LOG.decode()}))


def test_a_table_is_no_server_log_and_tells_no_settings(member: Client) -> None:
    page = text(member.post("/import/", {"text": TABLE.decode()}))
    member.post("/import/", {"ticket": ticket(page)})
    campaign = Campaign.objects.get()
    assert {stream.role for stream in LogStream.objects.all()} == {LogStream.Role.LOAD}
    assert "Log lines" not in text(member.get(campaign.get_absolute_url()))
    key = "~".join(str(arm.pk) for arm in campaign.arms.all())
    page = text(member.get(f"/compare/?arms={key}"))
    for words in ("host not told", "model not told", "workload not told", "no log"):
        assert words in page
    assert "How the two arms were set up is not told." in page and "alike" not in page


def test_an_imported_event_has_the_time_that_its_line_prints(member: Client) -> None:
    ready = b"[2026-05-09 20:35:20] The server is fired up and ready to roll!\n"
    page = text(member.post("/import/", {"text": (ready + LOG).decode()}))
    member.post("/import/", {"ticket": ticket(page)})
    page = text(member.get(Campaign.objects.get().runs.get().get_absolute_url()))
    assert '<dt class="muted">20:35:20</dt>' in page


H200 = Path(__file__).parents[3] / "showcase" / "h200-standalone-steps"
REAL = Path(__file__).parents[2] / "cases" / "real_logs"
FIELD = Path(__file__).parents[2] / "field_cases"


def uploads(*paths: Path) -> dict[str, list[SimpleUploadedFile]]:
    return {"file": [SimpleUploadedFile(path.name, path.read_bytes()) for path in paths]}


def test_several_files_show_what_will_be_made_of_them(member: Client) -> None:
    files = uploads(H200 / "steps-3.server.log", H200 / "steps-3.bench.jsonl")
    page = text(member.post("/import/", files))
    assert "565 samples, 4 results" in page
    assert "2 arms, 2 launches, 4 levels" in page
    for words in ("steps-3.server.log", "steps-3.bench.jsonl", "steps-3, t07", "STANDALONE"):
        assert words in page
    assert "Not known here by type, kept as written" in page and "--grammar-backend" in page
    assert "median_itl_ms" in page  # each metric with the tool's own name
    member.post("/import/", {"ticket": ticket(page)})
    campaign = Campaign.objects.get()
    run = campaign.arms.get(name="steps-3").runs.get()
    page = text(member.get(run.get_absolute_url()))
    for words in ("sglang.bench_serving", "median_itl_ms", "4,105", "steps-3.bench.jsonl"):
        assert words in page
    answer = member.get(f"/runs/{run.pk}/log/?role=load&part=1")
    told = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert told == (H200 / "steps-3.bench.jsonl").read_bytes()


def test_the_page_says_what_the_command_says(
    member: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    path = REAL / "vllm_0.32.0_cpu_ngram_spec.log"
    call_command("read", str(path), "--json")
    (told,) = json.loads(capsys.readouterr().out)
    page = text(member.post("/import/", uploads(path)))
    assert f"{len(told['samples'])} samples" in page
    assert f"{told['ignored_lines']} other lines ignored" in page
    assert "a vLLM log" in page
    for slug in told["caveats"]:
        assert f"! {slug}" in page
    for kind in told["events"]:
        assert kind in page


def test_an_engine_without_a_launcher_is_shown_and_not_rerun(member: Client) -> None:
    page = text(member.post("/import/", uploads(FIELD / "11-llamacpp-print-timing-draft.log")))
    member.post("/import/", {"ticket": ticket(page)})
    arm = Campaign.objects.get().arms.get()
    assert arm.config.engine == "llamacpp"
    for answer in (
        member.get(f"/arms/{arm.pk}/rerun/"),
        member.get(f"/arms/{arm.pk}/rerun/?set=temperature=0.7"),
        member.post(f"/arms/{arm.pk}/rerun/", {"more": "1"}),
    ):
        assert "llama.cpp cannot be launched from here yet" in text(answer)
    assert arm.runs.count() == 1


def test_a_server_that_died_is_a_failed_run_with_its_reason(member: Client) -> None:
    page = text(member.post("/import/", uploads(REAL / "sglang_0.5.17_h200_X_port_busy.log")))
    assert "ended badly" in page
    member.post("/import/", {"ticket": ticket(page)})
    run = Campaign.objects.get().runs.get()
    assert (run.state, run.reason) == ("failed", "port-taken")
    assert "address already in use" in run.reason_text


def test_samples_that_are_not_held_for_the_page_are_counted() -> None:
    reading = read(LOG, "a.log")
    more = replace(reading, context={**reading.context, "samples_not_kept": 1999})
    assert counts_of([more, reading]) == "2,001 samples"
    assert found(more, 1).all_samples == 2000


def test_of_several_logs_a_few_lines_each_are_shown_and_all_are_counted(member: Client) -> None:
    line = LOG.split(b"\n")[0] + b"\n"
    logs = [SimpleUploadedFile(f"{name}.log", line * 30) for name in ("a", "b")]
    page = text(member.post("/import/", {"file": logs}))
    assert page.count("first 10 of 30") == 2 and page.count("71.44") < 40
    alone = text(member.post("/import/", {"text": (line * 30).decode()}))
    assert "first 10" not in alone


def test_a_very_long_paste_is_kept_and_not_sent_back(member: Client) -> None:
    page = text(member.post("/import/", {"text": LOG.decode() * 2000}))
    assert len(page) < 300_000 and "2,000 damaged" not in page
    assert "Make a campaign of it" in page
    assert "71.44" in page


def test_a_launch_command_alone_says_what_would_make_an_arm_of_it(member: Client) -> None:
    page = text(member.post("/import/", {"text": "vllm serve meta/Finch-8B --max-num-seqs 64\n"}))
    assert "It holds a server&#x27;s launch command" in page and "meta/Finch-8B" in page
    assert "launch command" not in text(member.post("/import/", {"text": "why is it slow?"}))


def test_a_campaign_with_an_imported_server_keeps_its_environment_and_has_a_load(
    member: Client,
) -> None:
    command = (
        "HF_HOME=/data CUDA_VISIBLE_DEVICES=0,1 python -m sglang.launch_server --model-path /m/Q "
        "--tp 2 --max-running-requests 26\n"
    )
    page = text(member.post("/import/", {"text": command + LOG.decode()}))
    member.post("/import/", {"ticket": ticket(page)})
    arm = Campaign.objects.get().arms.get()
    form = text(member.get(f"/campaigns/new/?like={arm.pk}"))
    assert ">\nHF_HOME=/data</textarea>" in form
    assert re.search(r'name="gpus" value="0, 1"', form)
    assert re.search(r'name="levels" value="1, 4, 16"', form)
    assert re.search(r'name="max_running_requests" value="26"', form)
