"""Rows for figures that were measured elsewhere: the same tables as for runs of our own.

What a file does not say stays null. A run without times, readiness and requests shows them as
not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone

from hosts.models import Host, HostFacts
from runs.engines.base import Sample
from runs.metrics.acceptance import level_accept_len
from runs.models import Arm, Attempt, Event, Level, Run, State
from runs.readers.reading import Row


def named_host(name: str, facts: dict[str, Any]) -> Host:
    """A host that is known by name only; an existing one keeps its address and facts."""
    host, added = Host.objects.get_or_create(name=name)
    if added and facts:
        count, model = int(facts.get("gpus") or 0), facts.get("gpu_model")
        gpus = [{"index": i, "name": model} for i in range(count)] if model else []
        data = {**facts, "gpus": gpus, "imported": True}
        HostFacts.objects.create(host=host, data=data, probed_at=timezone.now())
    return host


def ended_run(arm: Arm, *, launch: int, by: Any, reason: str = "", text: str = "") -> Run:
    """A run whose story was told elsewhere."""
    now = timezone.now()
    run = Run.objects.create(
        campaign=arm.campaign,
        arm=arm,
        host=arm.host,
        launch=launch,
        position=arm.campaign.runs.count() + 1,
        imported=True,
        queued_by=by,
        state=State.FAILED if reason else State.SUCCEEDED,
        reason=reason,
        reason_text=text,
        ended_at=now,
    )
    said = text or "imported"
    Event.objects.create(run=run, kind="imported", at=now, text=said, actor=str(by or "import"))
    return run


def store_rows(attempt: Attempt, rows: Sequence[Row], samples: Sequence[Sample]) -> None:
    """One level per row that names its concurrency, in ascending order."""
    known = sorted((r for r in rows if r.concurrency is not None), key=lambda r: r.concurrency or 0)
    at_level = log_level(samples)
    Level.objects.bulk_create(
        Level(
            attempt=attempt,
            index=i,
            concurrency=row.concurrency or 0,  # rows without one are left out above
            state=Level.State.DONE,
            output_tps=row.output_tps,
            user_tps=row.user_tps,
            accept_len=level_accept_len(samples) if row.concurrency == at_level else None,
            source="import",
        )
        for i, row in enumerate(known)
    )


def log_level(samples: Iterable[Sample]) -> int | None:
    """The concurrency at which all decode lines were written, if running + waiting tell one."""
    loads = {(s.running or 0) + (s.waiting or 0) for s in samples if s.phase == "decode"}
    return loads.pop() if len(loads) == 1 else None
