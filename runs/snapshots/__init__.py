"""The one plain description of a comparison: what a share link shows and every export says.

Every field is taken by name. A new column of a model is therefore not told until somebody writes
it down here. Hosts become "host A"; addresses, users, paths, environment and logs never come in.
docs/exports.md tells the fields to whoever reads the JSON.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Q
from django.utils import timezone

from runs.actions.compare import comparison_key
from runs.armfacts import engine_version
from runs.caveatgroups import CaveatGroup
from runs.comparepage import next_steps
from runs.compareseries import comparison_series
from runs.comparisons import Compared
from runs.differences import Coverage, chips, coverage
from runs.excerpts import Excerpt, excerpts
from runs.models import Arm, CaveatTest, Comparison, Note
from runs.sides import FIGURES, Side
from runs.snapshots.allowed import (
    arm_names,
    command,
    evidence_told,
    fault_told,
    flags_told,
    renamed,
    settings_told,
    texts_told,
    without_places,
)
from runs.snapshots.pairs import NO_LEDGER, pair_told, why_again

__all__ = [
    "SCHEMA",
    "VERSION",
    "completed",
    "log_told",
    "note_told",
    "notes_around",
    "notes_to_share",
    "smoke_test",
    "snapshot",
    "why_again",
]

SCHEMA = "throughline-comparison"
VERSION = 2
# What copies of the first version do not hold, as whoever reads them finds it.
_PAIR_1: dict[str, Any] = {"why": NO_LEDGER}
_ROW_1 = {"verdict": None, "metric": "", "remark": ""}
_CAVEAT_1: dict[str, Any] = {"slug": "", "metric": "", "measured": [], "tests": []}
_ARM_1: dict[str, Any] = {
    "levels": [],
    "command": "",
    "log": None,
    "covered": "",
    "missing": [],
    "left_out": [],
}


def snapshot(compared: Compared, notes: Iterable[Note], *, ledgers: bool = True) -> dict[str, Any]:
    """The description as of now. ``notes`` were chosen by a person; others stay at home.

    ``ledgers`` False leaves out what costs most, where only the words are asked for.
    """
    hosts = _host_names(compared)
    covered = coverage(compared)
    logs = {excerpt.side.arm.pk: excerpt for excerpt in excerpts(compared.sides)}
    told = {
        "schema": SCHEMA,
        "version": VERSION,
        "made_at": f"{timezone.now():%-d %b %Y %H:%M} UTC",
        "question": compared.base.arm.campaign.question,
        "simulated": compared.simulated,
        "smoke_test": smoke_test(compared),
        "chips": [{"ok": chip.ok, "words": chip.words} for chip in chips(compared)],
        "arms": [_arm(each.side, hosts, each, logs.get(each.side.arm.pk)) for each in covered],
        "pairs": [pair_told(pair, ledger=ledgers) for pair in compared.pairs],
        "caveats": [_caveat(group) for group in compared.caveats],
        "expected": _expected(compared) if ledgers else None,
        "notes": [note_told(note, compared) for note in notes],
        "series": comparison_series(compared.sides),
    }
    return dict(renamed(told, arm_names(compared)))


def completed(frozen: Mapping[str, Any]) -> dict[str, Any]:
    """A frozen copy with what its version did not hold yet; the stored one is left as it is."""
    told = {
        "schema": SCHEMA,
        "smoke_test": None,
        "expected": None,
        "chips": [],
        **copy.deepcopy(dict(frozen)),
    }
    told["notes"] = [{"on": "", **note} for note in told["notes"]]
    told["arms"] = [{**copy.deepcopy(_ARM_1), **arm} for arm in told["arms"]]
    told["caveats"] = [
        {**copy.deepcopy(_CAVEAT_1), **without_places(caveat)} for caveat in told["caveats"]
    ]
    told["pairs"] = [
        {**copy.deepcopy(_PAIR_1), **pair, "rows": [{**_ROW_1, **row} for row in pair["rows"]]}
        for pair in told["pairs"]
    ]
    return told


def notes_to_share(comparison: Comparison) -> list[Note]:
    """Without a choice: those written on the comparison itself."""
    return list(comparison.notes.order_by("pk"))


def notes_around(arms: Sequence[Arm]) -> list[Note]:
    """What a person may choose from, and what their own exports hold: notes on the comparison,
    its arms and their campaigns. Those on runs, hosts and keys tell of the house."""
    campaigns = {arm.campaign_id for arm in arms}
    here = Q(comparison__key=comparison_key(arms)) | Q(arm__in=arms) | Q(campaign__in=campaigns)
    return list(Note.objects.filter(here).select_related("arm").order_by("pk"))


def note_told(note: Note, compared: Compared) -> dict[str, str]:
    """``on`` only where it is an arm's name or a word for all of them."""
    names = {side.arm.pk: side.name for side in compared.sides}
    told = names.get(note.arm_id or 0, note.anchor)
    on = told if told in {"both arms", "all arms", *names.values()} else ""
    return {"kind": note.get_kind_display(), "on": on, "text": note.text}


def _host_names(compared: Compared) -> dict[int, str]:
    ids = dict.fromkeys(side.arm.host_id for side in compared.sides)
    return {pk: f"host {chr(ord('A') + i)}" for i, pk in enumerate(ids)}


def _arm(
    side: Side, hosts: Mapping[int, str], covered: Coverage, log: Excerpt | None
) -> dict[str, Any]:
    config, workload = side.arm.config, side.arm.workload
    return {
        "letter": side.letter,
        "name": side.name,
        "host": hosts[side.arm.host_id],
        "launches": side.n,
        "provisional": side.provisional,
        "engine": config.engine,
        "engine_version": engine_version(side),
        "model": PurePosixPath(config.model).name,
        "gpus": _gpus(side),
        "flags": flags_told(config.flags),
        "command": command(config),
        "running_limit": side.limit,
        "workload": settings_told(workload),
        "levels": [_level(side, c) for c in side.concurrencies],
        "log": log_told(log) if log else None,
        "covered": covered.words,
        "missing": covered.missing,
        "left_out": [
            {"state": launch.run.get_state_display(), "why": fault_told(launch.run)}
            for launch in covered.left_out
        ],
    }


def _level(side: Side, concurrency: int) -> dict[str, Any]:
    """Means over the counted launches, in base units (tokens per second, seconds)."""
    means = {metric: side.mean(metric, concurrency) for metric in FIGURES}
    return {"concurrency": concurrency, **means}


def log_told(log: Excerpt) -> dict[str, Any]:
    """The numbers of a short log's lines; no line itself."""
    lines = [asdict(line) for line in log.lines]
    return {"lines": lines, "damaged": log.damaged, "active": log.active}


def smoke_test(compared: Compared) -> bool | None:
    """Whether the question asked before an import was answered rightly, where that is told."""
    told = compared.base.arm.campaign.facts.get("smoke_test")
    passed = told.get("passed") if isinstance(told, dict) else None
    return passed if isinstance(passed, bool) else None


def _gpus(side: Side) -> str:
    """ "4 × RTX PRO 6000", from the node's facts of a counted launch."""
    for launch in side.counted:
        gpus = (launch.attempt.facts if launch.attempt else {}).get("gpus") or []
        if gpus:
            names = sorted({str(gpu.get("name", "GPU")) for gpu in gpus})
            return f"{len(gpus)} × {', '.join(names)}"
    return ""


def _expected(compared: Compared) -> dict[str, Any] | None:
    """What one draft step more than the most of the arms would measure, 80 % sure."""
    steps = next_steps(compared)
    if steps is None or not steps["expected"]:
        return None
    names = {side.arm.pk: side.name for side in compared.sides}
    levels = [
        {
            "concurrency": each.concurrency,
            "low": each.told.output_tps.low,
            "high": each.told.output_tps.high,
            "accept_len": each.told.accept_len.value,
        }
        for each in steps["expected"]
    ]
    return {"arm": names[steps["arm"].pk], "steps": steps["steps"], "levels": levels}


def _caveat(group: CaveatGroup) -> dict[str, Any]:
    return {
        "slug": group.slug,
        "title": group.title,
        "severity": group.severity,
        "metric": group.metric,
        "where": group.where,
        "texts": texts_told(group),
        "measured": [
            {"where": where, "values": values}
            for where, evidence in group.measured
            if (values := evidence_told(evidence))
        ],
        # the reason is a person's own word and stays at home
        "dismissed": group.dismissal is not None,
        "tests": [_test(test) for test in group.tests if test.outcome],
    }


def _test(test: CaveatTest) -> dict[str, str]:
    """An ended counter-experiment: its text is made of a rule's words and figures."""
    return {"outcome": test.outcome, "text": test.text}
