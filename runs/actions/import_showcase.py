"""Import campaigns that were measured elsewhere, from folders as the showcase holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import transaction

from hosts.models import Host
from runs.actions.annotate import add_note
from runs.actions.conclude import store_findings
from runs.actions.import_folder import CAMPAIGN, import_texts_folder
from runs.actions.imported import ended_run, named_host, store_rows
from runs.actions.store_log import store_log
from runs.actions.store_plan import CLOCK
from runs.caveats.registry import find_caveats
from runs.models import Arm, Attempt, Campaign, Note, Reason, Run, ServerConfig, Workload
from runs.readers.notes import ImportedNote
from runs.readers.showcase import ARMS, ImportedArm, ImportedCampaign, load_folder
from runs.readers.showcase_facts import arm_facts, arm_samples


def import_all(folder: Path) -> list[Campaign]:
    """Import every campaign folder below ``folder`` that is not there yet; the new ones."""
    folders = [
        path
        for path in sorted(folder.iterdir())
        if (path / ARMS).exists() or (path / CAMPAIGN).exists()
    ]
    known = set(Campaign.objects.values_list("source", flat=True))
    return [import_folder(folder=path) for path in folders if source(path) not in known]


def source(folder: Path) -> str:
    return f"showcase/{folder.name}"


@transaction.atomic
def import_folder(*, folder: Path) -> Campaign:
    """Store one folder. Raises NotACampaign when it cannot be read as one."""
    if (folder / CAMPAIGN).exists():
        return import_texts_folder(folder=folder, source=source(folder))
    told = load_folder(folder)
    campaign = Campaign.objects.create(
        question=told.question, source=source(folder), facts=_facts(told)
    )
    host = named_host(str(told.host["name"]), dict(told.host))
    arms = [_arm(campaign, i, arm, told, host) for i, arm in enumerate(told.arms)]
    for failure in told.failed_attempts:
        failed = next(arm for arm in arms if arm.name == failure.arm)
        without = f"Without {failure.without}: " if failure.without else ""
        ended_run(
            failed, launch=1, by=None, reason=Reason.SERVER_DIED, text=f"{without}{failure.reason}."
        )
    for arm, row in zip(told.arms, arms, strict=True):
        _run(told, arm, row, folder)
    for note in told.notes:
        _note(note, campaign, arms)
    return campaign


def _facts(told: ImportedCampaign) -> dict[str, Any]:
    facts: dict[str, Any] = {"host": told.host, "launcher": told.launcher}
    if told.smoke_test is not None:
        test = told.smoke_test
        facts["smoke_test"] = {
            "prompt": test.prompt,
            "expected": test.expected,
            "passed": test.passed,
        }
    drafts = {arm.name: arm.draft_model for arm in told.arms if arm.draft_model}
    return facts | ({"draft_models": drafts} if drafts else {})


def _arm(
    campaign: Campaign, position: int, arm: ImportedArm, told: ImportedCampaign, host: Host
) -> Arm:
    unit = str(told.launcher.get("unit", ""))
    asked: dict[str, Any] = dict(arm.workload)
    config = ServerConfig.objects.create(
        engine=told.engine,
        model=told.model,
        flags=arm.flags,
        effective=arm.effective,
        launcher=ServerConfig.Launcher.SYSTEMD if unit else ServerConfig.Launcher.PROCESS,
        unit=unit,
    )
    workload = Workload.objects.create(
        driver="unknown",
        levels=sorted({row.concurrency for row in arm.rows if row.concurrency is not None}),
        prompt_set=str(asked.get("prompts", "")),
        temperature=asked.get("temperature"),
        ignore_eos=asked.get("ignore_eos"),
    )
    return Arm.objects.create(
        campaign=campaign,
        position=position,
        name=arm.name,
        config=config,
        workload=workload,
        host=host,
    )


def _run(told: ImportedCampaign, arm: ImportedArm, row: Arm, folder: Path) -> None:
    """The arm's measured launch, if anything of it was published."""
    logs = [log for log in told.logs if log.arm == arm.name]
    if not arm.rows and not logs:
        return
    run = ended_run(row, launch=row.runs.count() + 1, by=None)
    attempt = Attempt.objects.create(run=run, facts=CLOCK, startup=arm.effective)
    store_rows(attempt, arm.rows, arm_samples(told, arm))
    for log in logs[:1]:  # no campaign has two logs of one arm; a stream has one role
        store_log(attempt, folder / log.file, log.reading)
    store_findings(run, find_caveats(arm_facts(told, arm)))


def _note(note: ImportedNote, campaign: Campaign, arms: list[Arm]) -> None:
    """On the run where the note names it; else on the campaign, with the anchor in words."""
    kind = "dead-end" if "dead end" in note.tags else note.kind
    kind = kind if kind in Note.Kind.values else "note"
    on: Campaign | Arm | Run = campaign
    if note.anchor == "arms" and len(note.arms) == 1:
        on = next(arm for arm in arms if arm.name in note.arms)
    if note.anchor == "run":
        runs = [run for run in campaign.runs.all() if run.attempts.filter(streams__isnull=False)]
        on = runs[0] if len(runs) == 1 else campaign
    anchor = note.anchor_text if on is campaign and note.anchor != "campaign" else ""
    add_note(on=on, text=note.text, kind=kind, by=None, anchor=anchor)
