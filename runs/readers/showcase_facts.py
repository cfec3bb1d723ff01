"""What an imported arm says to the metrics and to the caveat rules."""

from collections.abc import Sequence

from runs.caveats.base import Facts
from runs.caveats.gather import gather
from runs.engines.base import Sample
from runs.metrics.compare import LevelFigures
from runs.metrics.window import decodes
from runs.readers.showcase import ImportedArm, ImportedCampaign


def level_figures(arm: ImportedArm) -> list[LevelFigures]:
    """Give the arm's rows as figures by concurrency; rows without a concurrency are left out."""
    return [
        LevelFigures(row.concurrency, {"output_tps": row.output_tps, "user_tps": row.user_tps})
        for row in arm.rows
        if row.concurrency is not None
    ]


def arm_samples(campaign: ImportedCampaign, arm: ImportedArm) -> list[Sample]:
    """Give the samples of every log that belongs to the arm."""
    return [
        sample for log in campaign.logs if log.arm == arm.name for sample in log.reading.samples
    ]


def arm_facts(campaign: ImportedCampaign, arm: ImportedArm) -> Facts:
    """Gather what the caveat rules look at."""
    samples = arm_samples(campaign, arm)
    return gather(
        flags=arm.flags,
        effective=arm.effective,
        workload=arm.workload,
        levels=[row.concurrency for row in arm.rows if row.concurrency is not None],
        samples=samples,
        client_tps=client_tps(arm, samples),
    )


def client_tps(arm: ImportedArm, samples: Sequence[Sample]) -> float | None:
    """Give the client's output tok/s at the level the log was written at, if that can be told.

    It can when running and waiting add up to one and the same measured concurrency on every line.
    One client's own speed is the whole.
    """
    loads = {(each.running or 0) + (each.waiting or 0) for each in decodes(samples)}
    if len(loads) != 1:
        return None
    load = loads.pop()
    for row in arm.rows:
        if row.concurrency == load:
            alone = row.user_tps if load == 1 else None
            return row.output_tps if row.output_tps is not None else alone
    return None
