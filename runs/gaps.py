"""What a campaign or a comparison lacks, and what filling it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.actions.launch import why_no_load, why_not_launchable
from runs.actions.missing import missing_launches
from runs.expected import expected_seconds, minutes
from runs.models import Arm, Campaign, Run


@dataclass(frozen=True)
class MissingLaunches:
    """Launches of a plan that did not succeed. ``cannot`` says why none can be tried again."""

    runs: list[Run]
    minutes: int | None
    cannot: str


def missing_of(campaign: Campaign, runs: Sequence[Run]) -> MissingLaunches | None:
    """None where nothing is missing; ``runs`` are the campaign's, by position."""
    missing = missing_launches(runs)
    if not missing:
        return None
    arms = {arm.pk: arm for arm in campaign.arms.select_related("config", "workload", "host")}
    wanted = [arms[run.arm_id] for run in missing]
    why = next((said for arm in wanted if (said := why_not_again(arm))), "")
    return MissingLaunches(missing, price(wanted), why)


def why_not_again(arm: Arm) -> str:
    """Why no further launch of an arm can be queued; empty if it can."""
    if why := why_not_launchable(arm.config) or why_no_load(arm.workload):
        return why
    return "" if arm.host.can_connect else f"{arm.host} cannot be reached from here."


def price(launches: Sequence[Arm]) -> int | None:
    """Minutes of one launch of each of these arms together; None unless all are known."""
    seconds = [expected_seconds(arm.workload, arm.host) for arm in launches]
    known = [each for each in seconds if each is not None]
    return minutes(sum(known)) if known and len(known) == len(seconds) else None
