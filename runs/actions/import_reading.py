"""Make a campaign of a text that somebody pasted or uploaded."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from people.models import Person
from runs.actions.conclude import store_findings
from runs.actions.imported import ended_run, named_host, store_log, store_rows
from runs.actions.launch import Refused
from runs.models import Arm, Attempt, Campaign, Run, ServerConfig, Workload
from runs.readers.reading import Reading

UNKNOWN_HOST = "unknown"


@transaction.atomic
def import_reading(*, reading: Reading, data: bytes, by: Person | None) -> Campaign:
    """A campaign with one arm per arm of the table, or one for the log. The text is kept whole."""
    if not reading.samples and not reading.rows:
        raise Refused("Nothing in this text can be measured: no log sample and no result row.")
    campaign = Campaign.objects.create(
        question=f"What does {reading.name} say?",
        opened_by=by,
        facts={"imported_from": reading.name, "context": reading.context},
    )
    names = list(dict.fromkeys(row.arm for row in reading.rows)) or [reading.name]
    for position, name in enumerate(names):
        _import_arm(campaign, position, name[:120], reading, data, by)
    return campaign


def _import_arm(
    campaign: Campaign, position: int, name: str, reading: Reading, data: bytes, by: Person | None
) -> Run:
    rows = [row for row in reading.rows if row.arm[:120] == name]
    context: dict[str, Any] = dict(reading.context)
    arm = Arm.objects.create(
        campaign=campaign,
        position=position,
        name=name,
        config=ServerConfig.objects.create(
            engine="sglang",
            model=str(context.get("model") or "unknown"),
            flags=context.get("launch_flags") or {},
        ),
        workload=Workload.objects.create(
            driver="unknown",
            levels=sorted({row.concurrency for row in rows if row.concurrency is not None}),
            temperature=context.get("temperature"),
        ),
        host=named_host(UNKNOWN_HOST, {}),
    )
    run = ended_run(arm, launch=1, by=by)
    attempt = Attempt.objects.create(run=run, startup=_startup(context))
    store_rows(attempt, rows, reading.samples)
    store_log(attempt, data, reading)
    store_findings(run, reading.caveats)
    return run


def _startup(context: dict[str, Any]) -> dict[str, Any]:
    limit = context.get("max_running_requests")
    return {} if limit is None else {"max_running_requests": limit}
