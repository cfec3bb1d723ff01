"""Open a campaign and queue its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from hosts.models import Host
from people.models import Person
from runs.drivers.checks import WorkloadError
from runs.drivers.registry import find_driver
from runs.engines.registry import ENGINES
from runs.metrics.blocks import interleaved
from runs.metrics.looking import planned_looks
from runs.models import Arm, Campaign, Run, ServerConfig, Workload


class Refused(Exception):
    """What was asked cannot be done; ``field`` is the input that has to change."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class NewArm:
    """An arm to be added: its name and the server it starts."""

    name: str
    config: ServerConfig


ENGINE_NAMES = {"llamacpp": "llama.cpp", "trtllm": "TensorRT-LLM"}


def why_not_launchable(config: ServerConfig) -> str:
    """Why a server of this config cannot be started from here; empty if it can."""
    if config.engine == "unknown":
        return "What was imported does not tell the engine, so nothing can be launched of it."
    if config.engine not in ENGINES:
        name = ENGINE_NAMES.get(config.engine, config.engine)
        return f"{name} cannot be launched from here yet: it can be read and compared."
    if config.model == "unknown":
        return "What was imported does not tell the model, so nothing can be launched of it."
    return ""


@transaction.atomic
def launch_campaign(
    *,
    question: str,
    arms: Sequence[NewArm],
    workload: Workload,
    host: Host,
    repeats: int,
    by: Person | None,
    share_gpus: bool = False,
    smoke: tuple[str, str] = ("", ""),
    limits: dict[str, float] | None = None,
    looks: int = 1,
) -> Campaign:
    """Store the campaign, its arms and one queued run per launch, interleaved A B B A.

    ``share_gpus``: runs start although others hold memory on their GPUs. ``smoke`` is the
    readiness check's own question and what its answer must hold. ``limits`` are seconds, by the
    keys of :attr:`Campaign.limits`; the house's hold for what it does not name. ``looks`` is how
    often the results may be looked at, the last time at the end; see :mod:`runs.stopping`.
    """
    if not host.can_connect:
        raise Refused(f"{host} cannot be reached: it has no address or no confirmed key.", "host")
    check_load(workload)
    looks_at = planned_looks(repeats, looks) if len(arms) > 1 else []
    campaign = Campaign.objects.create(
        looks=looks_at,
        next_look=looks_at[0] if looks_at else None,
        question=question,
        opened_by=by,
        share_gpus=share_gpus,
        smoke_question=smoke[0],
        smoke_answer=smoke[1],
        limits=limits or {},
    )
    workload.save()
    made = [_add_arm(campaign, i, arm, workload, host) for i, arm in enumerate(arms)]
    queue_blocks(arms=made, launches=repeats, by=by)
    return campaign


def open_like(other: Campaign, *, question: str, by: Person | None, **values: Any) -> Campaign:
    """An empty campaign with another's readiness check and limits."""
    kept = ("share_gpus", "smoke_question", "smoke_answer", "limits")
    told = {name: getattr(other, name) for name in kept}
    return Campaign.objects.create(question=question[:300], opened_by=by, **told, **values)


def queue_blocks(
    *, arms: Sequence[Arm], launches: int, by: Person | None, first: Mapping[int, int] | None = None
) -> list[Run]:
    """So many launches of each arm, interleaved; ``first`` is an arm's next launch, else 1."""
    begin = first or {}
    return [
        queue_run(arm=arm, launch=begin.get(arm.pk, 1) + n, by=by)
        for n, block in enumerate(interleaved(arms, launches))
        for arm in block
    ]


def _add_arm(campaign: Campaign, position: int, new: NewArm, workload: Workload, host: Host) -> Arm:
    if new.config._state.adding:
        new.config.save()
    return Arm.objects.create(
        campaign=campaign,
        position=position,
        name=new.name,
        config=new.config,
        workload=workload,
        host=host,
    )


def why_no_load(workload: Workload) -> str:
    """Why nobody can make this load again, whatever is changed; empty if somebody can."""
    try:
        find_driver(workload.driver)
    except WorkloadError as error:
        return _sentence(error)
    return ""


def check_load(workload: Workload) -> None:
    """Refuse a load that nobody can make again: an import's, or one with a wrong field."""
    try:
        find_driver(workload.driver).start(
            workload.for_driver(), base_url="http://127.0.0.1:1", model="model", model_path="model"
        )
    except WorkloadError as error:
        raise Refused(_sentence(error), error.field) from error


def _sentence(error: WorkloadError) -> str:
    return f"{error.message[:1].upper()}{error.message[1:]}."


def queue_run(
    *,
    arm: Arm,
    launch: int,
    by: Person | None,
    rerun_of: Run | None = None,
    predicted: Sequence[dict[str, Any]] = (),
) -> Run:
    """One more launch of an arm, behind all others of its campaign."""
    if why := why_not_launchable(arm.config):
        raise Refused(why, "engine")
    check_load(arm.workload)
    last = arm.campaign.runs.aggregate(last=Max("position"))["last"]
    return Run.objects.create(
        campaign=arm.campaign,
        arm=arm,
        host=arm.host,
        launch=launch,
        position=(last or 0) + 1,
        rerun_of=rerun_of,
        predicted=list(predicted),
        queued_by=by,
        queued_at=timezone.now(),
    )
