"""The import page as a newcomer meets it: names, a lone command, a log alone, a table's columns."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from runs.models import Arm, Campaign, Level
from tests.factories import make_host
from tests.signed_in import text

pytestmark = pytest.mark.django_db

COMMAND = "CUDA_VISIBLE_DEVICES=0,1 python -m sglang.launch_server --model-path /m/Orrin-70B --tp 2"
LOG = "".join(
    f"[2026-05-09 20:35:{10 + n}] Decode batch, #running-req: {running}, #token: 848, token usage: "
    f"0.01, accept len: 3.50, accept rate: 0.84, cuda graph: True, gen throughput (token/s): "
    f"{tps}.00, #queue-req: 0\n"
    for n, (running, tps) in enumerate([(1, 70), (1, 72), (4, 200), (4, 210)])
)
TABLE = (
    "sglang 0.5.9\n| concurrency | output tok/s | TPOT (ms) | accept len |\n|---|---|---|---|\n"
    "| 1 | 120 | 8.1 | 2.41 |\n| 4 | 300 | 9.5 | 2.35 |\n"
)


@pytest.fixture(autouse=True)
def _own_folder(settings: object, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]


def read(member: Client, words: str) -> str:
    return text(member.post("/import/", {"text": words}))


def keep(member: Client, words: str, **named: str) -> Campaign:
    ticket = re.search(r'name="ticket" value="([^"]+)"', read(member, words)).group(1)
    member.post("/import/", {"ticket": ticket, **named})
    return Campaign.objects.get()


def test_question_and_name_begin_with_what_the_text_tells(member: Client) -> None:
    shown = read(member, f"{COMMAND}\n{LOG}")
    assert 'value="How fast is Orrin-70B, sglang, 2026-05-09?"' in shown
    assert 'name="arm" maxlength="120" value="Orrin-70B, sglang"' in shown


def test_question_and_name_are_kept_as_they_were_typed(member: Client) -> None:
    campaign = keep(member, f"{COMMAND}\n{LOG}", question="Does it pay?", arm="steps off")
    assert campaign.question == "Does it pay?"
    assert campaign.arms.get().name == "steps off"
    assert campaign.facts["_import"]["only"] == "steps off"  # so that reading again finds the arm


def test_without_names_the_texts_own_are_taken(member: Client) -> None:
    assert keep(member, LOG, question=" ", arm="").question == "What does the pasted text say?"


def test_several_arms_keep_the_names_that_the_text_gives(member: Client) -> None:
    rows = "arm,concurrency,aggregate_tok_s\nsteps=1,1,122\nsteps=2,1,183\n"
    assert 'name="arm"' not in read(member, rows)
    campaign = keep(member, rows, question="Which?", arm="one")
    assert [arm.name for arm in campaign.arms.all()] == ["steps=1", "steps=2"]


def test_a_log_alone_shows_its_arm_by_running_requests_and_a_rerun(member: Client) -> None:
    campaign = keep(member, f"{COMMAND}\n{LOG}")
    arm = campaign.arms.get()
    shown = text(member.get(campaign.get_absolute_url()))
    assert "This campaign has no level yet" not in shown
    rows = re.findall(r"<td>(\d+)</td><td>(\d+)</td><td>([\d.]+)</td><td>([\d.]+)</td>", shown)
    assert rows[:2] == [("1", "2", "71.0", "3.50"), ("4", "2", "205", "3.50")]
    assert f'href="/campaigns/new/?like={arm.pk}">Rerun with…' in shown
    assert f"/compare/?arms={arm.pk}" in shown


def test_a_log_that_tells_no_model_says_why_it_cannot_be_rerun(member: Client) -> None:
    shown = text(member.get(keep(member, LOG).get_absolute_url()))
    assert "does not tell the model" in shown and "Rerun with…" not in shown


def test_a_table_keeps_its_tpot_and_accept_len(member: Client) -> None:
    shown = read(member, TABLE)
    assert ">accept len</th>" in shown and ">TPOT</th>" in shown and ">TTFT</th>" not in shown
    assert "2.41" in shown and "8.1 ms" in shown
    campaign = keep(member, TABLE)
    levels = Level.objects.filter(attempt__run__campaign=campaign).order_by("concurrency")
    assert [(level.tpot_s, level.accept_len) for level in levels] == [
        (pytest.approx(0.0081), 2.41),
        (pytest.approx(0.0095), 2.35),
    ]


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (f"{COMMAND} --max-runing-requests 26", "--max-running-requests"),
        ("vllm serve m/Finch-8B --max-num-seq 64", "--max-num-seqs"),
        (f"{COMMAND} --shiny-new-thing 26", ""),
    ],
)
def test_a_lone_command_opens_a_campaign_and_names_what_is_not_known(
    member: Client, command: str, near: str
) -> None:
    make_host()
    shown = read(member, command)
    assert "Open a new campaign with these flags" in shown and "Not known here" in shown
    assert (f"did you mean <code>{near}</code>?" in shown) is bool(near)
    form = shown[shown.index('action="/campaigns/new/"') :].partition("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    opened = text(member.post("/campaigns/new/", {**fields, "preview": "1"}))
    assert "Orrin-70B" in opened or "Finch-8B" in opened
    if command.startswith("CUDA"):
        assert re.search(r'name="gpus" value="0, 1"', opened)
        assert re.search(r'name="tp" value="2"', opened)
    assert not Arm.objects.exists()


def test_two_commands_alone_open_nothing(member: Client) -> None:
    shown = read(member, f"{COMMAND}\nand\n{COMMAND} --disable-radix-cache\n")
    assert "Open a new campaign with these flags" not in shown


def test_keys_are_words_and_a_host_that_nobody_told_says_so(member: Client) -> None:
    shown = read(member, f"{COMMAND}\n{LOG}")
    assert ">tensor parallel</dt>" in shown and ">launch flags --tp</dt>" in shown
    assert "<code>launch_flags" not in shown
    page = text(member.get(keep(member, LOG).get_absolute_url()))
    assert "host not told" in page


def test_a_file_that_holds_nothing_says_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear team, all is well.\n")
    out = StringIO()
    call_command("read", str(path), stdout=out)
    assert "Nothing here can be read" in out.getvalue() and "vLLM" in out.getvalue()


def test_a_secret_of_a_paste_is_shown_nowhere_and_starts_no_server(member: Client) -> None:
    command = f'HF_TOKEN=plain1secret {COMMAND} --seed-key 3 --api-key "plain1secret of mine"'
    shown = read(member, f"{command}\n{LOG}")
    assert "plain1" not in shown and "of mine" not in shown and "HF_TOKEN=****" in shown
    arm = keep(member, f"{command}\n{LOG}").arms.get()
    again = text(member.get(f"/campaigns/new/?like={arm.pk}"))
    assert "# HF_TOKEN held a secret, which is not kept" in again
    assert "HF_TOKEN=" not in again and "--seed-key 3" in again


def test_a_paste_with_a_null_byte_is_read(member: Client) -> None:
    assert "4 samples" in read(member, f"\0\0{LOG}\0")


def test_an_empty_file_is_named_and_stops_no_other(member: Client) -> None:
    files = [SimpleUploadedFile("a.log", b""), SimpleUploadedFile("b.log", LOG.encode())]
    shown = text(member.post("/import/", {"file": files}))
    assert "a.log" in shown and "4 samples" in shown
    refused = member.post("/import/", {"file": [SimpleUploadedFile("a.log", b"")]})
    assert refused.status_code == 422 and "Nothing stands in a.log: 0 bytes." in text(refused)


def test_a_switched_off_flag_and_a_path_in_a_remark_name_no_arm(member: Client) -> None:
    block = "# /etc/systemd/system/o.service\n" + COMMAND.replace(
        " --tp", " \\\n  # --off \\\n  --tp"
    )
    campaign = keep(member, f"{block}\n{TABLE}")
    assert campaign.arms.get().config.flags == {"--tp": 2}
    assert campaign.arms.get().name not in ("off \\", "off", "/etc/systemd/system/o.service")
