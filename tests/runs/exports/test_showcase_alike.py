"""The five showcase campaigns: page, API and Markdown say the same figures and caveats."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from runs.actions.import_showcase import import_folder
from runs.metrics.shown import change, number, tps
from runs.models import Arm, Campaign
from tests.signed_in import text

pytestmark = pytest.mark.django_db
SHOWCASE = Path(settings.BASE_DIR) / "showcase"


@dataclass
class Told:
    """What one of them says: cells of the levels of each pair, caveats, lines, and all its words.

    ``levels``: (other arm, clients) to (tok/s before, after, change, change per user, accept len).
    ``ledgers``: (other arm, clients) to accept len and step rate of the baseline and of the other.
    """

    levels: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    ledgers: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    caveats: set[str] = field(default_factory=set)
    lines: list[tuple[str, ...]] = field(default_factory=list)
    words: str = ""


def tables(page: str) -> list[tuple[str, list[list[str]]]]:
    """Class and rows of every table of a page, cells as text."""
    found = []
    for kind, body in re.findall(r'<table class="([^"]*)"[^>]*>(.*?)</table>', page, flags=re.S):
        rows = [
            [plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S)]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, flags=re.S)
        ]
        found.append((kind, rows))
    return found


def plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def of_page(member: Client, arms: list[Arm]) -> Told:
    if len(arms) < 2:
        return of_run_page(member, arms[0])
    page = text(member.get(f"/compare/?arms={key(arms)}"))
    for fold in re.findall(r'hx-get="([^"]*/folds/[^"]*)"', page):
        page += text(member.get(html.unescape(fold)))
    told = Told(words=plain(page), caveats=set(re.findall(r'id="caveat-([a-z-]+)"', page)))
    others = iter(arms[1:])
    for kind, rows in tables(page):
        head = rows[0]
        if "levels" in kind:
            other = next(others).name
            accept = head.index("accept len")
            for row in rows[1:]:
                clients = row[0].split()[0]
                told.levels[other, clients] = (row[5], row[6], row[7], row[4], row[accept])
        elif "ledger" in kind:
            clients = ""
            other = head[2].split(" → ")[1]
            for row in rows[1:]:
                clients = row[0] or clients
                if row[1] in ("accept len", "step rate"):
                    before = told.ledgers.get((other, clients), ())
                    told.ledgers[other, clients] = (
                        *before,
                        *row[2].removesuffix("/s").split(" → "),
                    )
        elif head[:2] == ["arm", "line"]:
            told.lines += [tuple(row[i] for i in (1, 2, 3, 4, 5, 6, 8)) for row in rows[1:]]
    return told


def of_run_page(member: Client, arm: Arm) -> Told:
    """An arm without another has its run's page, and its campaign's."""
    page = text(member.get(arm.runs.get().get_absolute_url()))
    whole = plain(page) + " " + plain(text(member.get(arm.campaign.get_absolute_url())))
    titles = {"accept-rate-definition": "Accept rate definition"}
    return Told(words=whole, caveats={slug for slug, title in titles.items() if title in whole})


def of_api(member: Client, arms: list[Arm]) -> Told:
    body = member.get(f"/api/v1/compare?arms={key(arms)}").json()
    told = Told(words=str(body), caveats={each["slug"] for each in body["caveats"]})
    names = {each["id"]: each["name"] for each in body["arms"]}
    for pair in body["pairs"]:
        figures = {(each["metric"], each["concurrency"]): each for each in pair["levels"]}
        for clients in {each["concurrency"] for each in pair["levels"]}:
            output, user, accept = (
                figures[metric, clients] for metric in ("output_tps", "user_tps", "accept_len")
            )
            told.levels[names[pair["other"]], str(clients)] = (
                tps(output["before"]), tps(output["after"]), change(output["ratio"]),
                change(user["ratio"]), both(accept),
            )  # fmt: skip
        for ledger in pair["ledger"]:
            bars = {bar["key"]: bar for bar in ledger["bars"]}
            if bars:
                a, s = bars["accept_len"], bars["steps"]
                told.ledgers[names[pair["other"]], str(ledger["concurrency"])] = (
                    number(a["before"], 2), number(a["after"], 2),
                    number(s["before"], 1), number(s["after"], 1),
                )  # fmt: skip
    for arm in body["arms"]:
        for line in (arm["log"] or {"lines": []})["lines"]:
            graph = {True: "on", False: "off", None: "·"}[line["graph"]]
            told.lines.append(
                (line["phase"], number(line["running"]), number(line["waiting"]),
                 number(line["output_tps"], 2), number(line["accept_len"], 2),
                 number(line["accept_rate"], 2), graph)
            )  # fmt: skip
    return told


def both(change: dict[str, Any]) -> str:
    if change["before"] is None and change["after"] is None:
        return "·"
    return f"{number(change['before'], 2)} → {number(change['after'], 2)}"


def of_markdown(member: Client, arms: list[Arm]) -> Told:
    words = text(member.get(f"/compare/export.md?arms={key(arms)}")).replace("\\", "")
    told = Told(words=words, caveats=set(re.findall(r"^- .*?\*\* `([a-z-]+)`", words, flags=re.M)))
    for block in re.split(r"\n\n", words):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()]
        head = rows[0] if rows else []
        title = re.match(r"### (.*) against ", block)
        if title:
            other = title[1]
        elif head[:2] == ["clients", "n"]:
            for row in rows[2:]:
                cells = dict(zip(range(len(head)), row, strict=True))
                output = next((i for i, h in enumerate(head) if h.endswith(", tok/s")), None)
                user = next((i for i, h in enumerate(head) if h.endswith("per user")), None)
                accept = head.index("accept len") if "accept len" in head else None
                change_at = 4 if head[4:5] == ["change"] else None
                told.levels[other, row[0]] = (
                    cells[output] if output is not None else "·",
                    cells[output + 1] if output is not None else "·",
                    cells[change_at] if change_at is not None else "·",
                    cells[user + 2] if user is not None and head[user + 2] == "change" else "·",
                    cells[accept] if accept is not None else "·",
                )
        elif head[:1] == ["clients"] and "step rate" in head:
            a, s = head.index("accept len"), head.index("step rate")
            for row in rows[2:]:
                split = [row[i].split(" (")[0].removesuffix("/s").split(" → ") for i in (a, s)]
                told.ledgers[other, row[0]] = (*split[0], *split[1])
        elif head[:2] == ["arm", "line"]:
            told.lines += [tuple(row[i] for i in (1, 2, 3, 4, 5, 6, 8)) for row in rows[2:]]
    return told


def key(arms: list[Arm]) -> str:
    return "~".join(str(arm.pk) for arm in arms)


WAYS: dict[str, Callable[[Client, list[Arm]], Told]] = {
    "page": of_page,
    "API": of_api,
    "Markdown": of_markdown,
}


def imported(folder: str) -> list[Arm]:
    import_folder(folder=SHOWCASE / folder)
    return list(Campaign.objects.get().arms.order_by("position"))


@pytest.mark.parametrize("way", WAYS)
def test_the_steps_campaign(member: Client, way: str) -> None:
    told = WAYS[way](member, imported("qwen3.5-122b-steps"))
    assert {c: cells[2:4] for (_, c), cells in told.levels.items()} == {
        "1": ("+50 %", "+51 %"),
        "4": ("+36 %", "+36 %"),
        "16": ("+26 %", "+27 %"),
        "32": ("+10 %", "+56 %"),
        "64": ("+17 %", "+50 %"),
    }
    assert told.caveats >= {"greedy-sampling", "ignore-eos", "running-capped"}
    assert "a hint, not a verdict" in told.words
    assert re.search(r"max_running_requests.{1,60}effective 26.{1,60}effective 21", told.words)
    assert "incidental" in told.words
    for limit in (26, 21):  # below 32 and 64
        assert f"at most {limit} requests: at concurrency 32 and 64 the rest wait" in told.words
    assert "temperature=0 inflates acceptance" in told.words
    assert "both arms" in told.words


@pytest.mark.parametrize("way", WAYS)
def test_the_mtp_campaign(member: Client, way: str) -> None:
    told = WAYS[way](member, imported("qwen3.6-27b-mtp"))
    assert told.lines == [
        ("decode", "1", "0", "71.44", "3.52", "0.84", "on"),
        ("decode", "1", "0", "63.82", "3.15", "0.72", "on"),
    ]
    assert re.search(r"1 damaged|'damaged': 1", told.words)
    assert told.levels["MTP", "4"][1] == "234"
    assert "client-log-gap" in told.caveats
    assert "77 tok/s and the server's log 67.6" in told.words
    if way != "API":  # there the lines themselves stand, and the baseline's figure
        assert "×2.4 to ×2.7 (mean of 2 lines ×2.53) against 26.7 tok/s" in told.words


@pytest.mark.parametrize("way", WAYS)
def test_the_nextn_campaign(member: Client, way: str) -> None:
    told = WAYS[way](member, imported("qwen3.5-122b-nextn"))
    if way == "page":  # the run's own page, where the lines stand in the log
        assert "accept len 1.95" in told.words and "output tok/s ·" in told.words
        assert "Prefill batch" in told.words and "Decode batch" in told.words
    else:
        assert [line[0] for line in told.lines] == ["prefill", "decode"]
        assert told.lines[1][3:6] == ("·", "1.95", "0.97")
    assert "Speculation is active: accept len 1.95" in told.words
    assert "accept-rate-definition" in told.caveats
    assert "drafts accepted per draft proposed are 0.95" in told.words
    assert re.search(r"[Ss]moke.test.{1,9}(passed|True)", told.words)


@pytest.mark.parametrize("way", WAYS)
def test_the_dflash_campaign(member: Client, way: str) -> None:
    told = WAYS[way](member, imported("kimi-k2.6-dflash"))
    assert {c: cells[:3] for (_, c), cells in told.levels.items()} == {
        "1": ("65.0", "70.0", "+8 %"),
        "128": ("1,493", "1,146", "−23 %"),
    }
    assert [(line[1], line[2], line[4], line[5], line[6]) for line in told.lines] == [
        ("69", "63", "3.46", "0.35", "off"),
        ("73", "50", "3.49", "0.36", "off"),
    ]
    assert "0.351" in told.words or "0.3514" in told.words  # accepted per draft, the strict rate
    assert told.caveats >= {"cuda-graph-off", "queueing"}
    assert "NoneType" in told.words


@pytest.mark.parametrize("way", WAYS)
def test_the_h200_campaign(member: Client, way: str) -> None:
    arms = {arm.name: arm for arm in imported("h200-standalone-steps")}
    sweep = [arms[name] for name in ("no speculation", "steps=1", "steps=2", "steps=3")]
    told = WAYS[way](member, sweep)
    figures = {
        other: [told.levels[other, c][:2] for c in ("1", "16", "64")]
        for other in ("steps=1", "steps=2", "steps=3")
    }
    assert figures == {
        "steps=1": [("205", "255"), ("2,426", "2,034"), ("5,945", "3,098")],
        "steps=2": [("205", "309"), ("2,426", "2,430"), ("5,945", "3,717")],
        "steps=3": [("205", "338"), ("2,426", "2,783"), ("5,945", "4,105")],
    }
    changes = [told.levels["steps=3", c][2] for c in ("1", "16", "64")]
    assert changes == ["+65 %", "+15 %", "−31 %"]  # ×1.65, ×1.15, ×0.69
    lengths = [told.levels[f"steps={n}", "1"][4].split(" → ")[1] for n in (1, 2, 3)]
    assert lengths == ["1.81", "2.43", "2.94"]
    assert told.caveats >= {"running-capped", "queueing", "random-tokens"}
    assert "runs at most 48 requests and 64 were offered" in told.words
    if way != "API":  # there it is asked for by another address
        assert "2,818 to 3,209 tok/s" in told.words  # expected of four draft steps at 16
    # accept len ×2.94 against fewer steps per second
    accept_a, accept_b, steps_a, steps_b = map(float, told.ledgers["steps=3", "1"])
    assert (accept_a, accept_b) == (1.0, 2.94)
    # step times of 4.79 and 8.62 ms
    assert steps_b / steps_a == pytest.approx(0.556, abs=0.003)


@pytest.mark.parametrize("way", WAYS)
def test_what_greedy_sampling_flatters_on_the_h200(member: Client, way: str) -> None:
    arms = {arm.name: arm for arm in imported("h200-standalone-steps")}
    told = WAYS[way](member, [arms["steps=3, temp=0.7"], arms["steps=3"]])
    assert told.levels["steps=3", "16"][:2] == ("2,616", "2,783")
    assert told.levels["steps=3", "16"][4] == "2.74 → 2.97"
