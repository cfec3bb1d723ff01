"""Everything a grid is made of, for any number of campaigns in four queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.models import Arm, Attempt, Campaign, Level, Run


@dataclass(frozen=True)
class CampaignData:
    """``levels`` are those of each run's last attempt, by run id and concurrency.

    ``limits`` are the running requests that a run's server really allowed, where it told so.
    """

    campaign: Campaign
    arms: list[Arm]
    runs: list[Run]
    levels: dict[int, dict[int, Level]]
    limits: dict[int, int]


def load(campaigns: Sequence[Campaign]) -> list[CampaignData]:
    ids = [campaign.pk for campaign in campaigns]
    arms = Arm.objects.filter(campaign__in=ids).select_related("config", "workload", "host__facts")
    runs = list(Run.objects.filter(campaign__in=ids).select_related("arm", "host"))
    last = _last_attempts(ids)
    levels = _levels(last)
    limits = {
        attempt.run_id: limit
        for attempt in last
        if isinstance(limit := attempt.startup.get("max_running_requests"), int)
    }
    return [
        CampaignData(
            campaign=campaign,
            arms=[arm for arm in arms if arm.campaign_id == campaign.pk],
            runs=[run for run in runs if run.campaign_id == campaign.pk],
            levels=levels,
            limits=limits,
        )
        for campaign in campaigns
    ]


def _last_attempts(campaign_ids: Sequence[int]) -> list[Attempt]:
    tries = Attempt.objects.filter(run__campaign__in=campaign_ids).order_by("n")
    return list({attempt.run_id: attempt for attempt in tries}.values())


def _levels(attempts: Sequence[Attempt]) -> dict[int, dict[int, Level]]:
    run_of = {attempt.pk: attempt.run_id for attempt in attempts}
    found: dict[int, dict[int, Level]] = {}
    for level in Level.objects.filter(attempt__in=list(run_of)).defer("summary"):
        found.setdefault(run_of[level.attempt_id], {})[level.concurrency] = level
    return found
