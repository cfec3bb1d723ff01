"""A caveat's counter-experiment as a ready campaign: arms × launches, interleaved A B B A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from people.models import Person
from runs.actions.launch import (
    Refused,
    check_load,
    open_like,
    queue_blocks,
    why_no_load,
    why_not_launchable,
)
from runs.actions.rerun import changed_workload, in_name
from runs.caveats.base import FIVE_TIMES, LOWEST_LIMIT, REAL_PROMPTS, Experiment
from runs.drivers.prompts import FILE
from runs.drivers.registry import find_driver
from runs.engines.registry import ENGINES
from runs.metrics.blocks import interleaved
from runs.models import Arm, Campaign, CaveatTest, Comparison, Run, ServerConfig, Workload

LAUNCHES = 2  # of each arm: the fewest of which the verdict function says a word
AS_IT_IS = "as it is"


@dataclass(frozen=True)
class PlannedArm:
    """An arm of the experiment. Its flags and workload differ from ``source``'s by ``changes``."""

    source: Arm
    name: str
    flags: dict[str, Any]
    workload: Workload
    changes: list[tuple[str, Any, Any]] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        config = self.source.config
        return ENGINES[config.engine].command(self.flags, model=config.model, port=config.port)


@dataclass(frozen=True)
class Plan:
    """What would be started, for a person to confirm; nothing is stored by making one."""

    slug: str
    experiment: Experiment
    arms: list[PlannedArm]
    launches: int

    @property
    def order(self) -> list[PlannedArm]:
        """Every second block runs backwards."""
        return [arm for block in interleaved(self.arms, self.launches) for arm in block]

    @property
    def question(self) -> str:
        what = self.slug.replace("-", " ")
        return f"Does “{what}” matter? {self.experiment.words}, on {self.arms[0].source.name}"[:300]


def plan_experiment(
    *, slug: str, experiment: Experiment, arms: Sequence[Arm], limit: int | None = None
) -> Plan:
    """The smallest campaign that tells how much a caveat matters.

    ``arms`` are those it doubts, the baseline first; ``limit`` is the lowest number of requests
    that their servers may run, if known. Raises :class:`Refused` with the reason when
    it cannot be started from here, and ValueError with the flag when an engine refuses it.
    """
    for arm in arms:
        if why := why_not_launchable(arm.config) or why_no_load(arm.workload):
            raise Refused(why)
        if not arm.host.can_connect:
            raise Refused(f"{arm.host} cannot be reached: no address, or no confirmed key.")
    changes = _resolved(experiment, limit)
    if experiment.arms == "one":
        source = arms[-1]
        planned = [_planned(source, {}, AS_IT_IS), _planned(source, changes, experiment.words)]
        if not planned[1].changes:
            raise Refused(f"{source.name} has {experiment.words} already.")
    else:
        planned = [_planned(arm, changes, arm.name) for arm in arms]
    return Plan(slug, experiment, planned, LAUNCHES)


def _resolved(experiment: Experiment, limit: int | None) -> dict[str, Any]:
    changes = dict(experiment.changes)
    for key, value in changes.items():
        if value == LOWEST_LIMIT:
            if limit is None:
                raise Refused("No log tells how many requests the servers may run.")
            changes[key] = limit
    return changes


def _planned(source: Arm, changes: dict[str, Any], name: str) -> PlannedArm:
    engine = ENGINES[source.config.engine]
    names = {f.name for f in Workload._meta.fields}
    load = {key: _multiplied(source, key, v) for key, v in changes.items() if key in names}
    asked = {engine.fields.get(key, key): v for key, v in changes.items() if key not in names}
    if asked and not source.config.sets_arguments:
        raise Refused(f"{source.name} keeps its own arguments, so none can be changed from here.")
    flags, _ = engine.rerun(source.config.flags, asked) if asked else (source.config.flags, {})
    workload = changed_workload(source.workload, load)
    check_load(workload)
    before = source.config.flags
    told = [(k, before.get(k), flags.get(k)) for k in {**before, **flags}]
    told += [(k, getattr(source.workload, k), v) for k, v in load.items()]
    differing = [(k, old, new) for k, old, new in told if old != new]
    return PlannedArm(source, in_name(name)[:120], flags, workload, differing)


def _multiplied(source: Arm, key: str, value: Any) -> Any:
    if value == REAL_PROMPTS:
        return _real_prompts(source)
    if value != FIVE_TIMES:
        return value
    now = getattr(source.workload, key)
    return [5 * each for each in now] if isinstance(now, list) else 5 * (now or 1)


def _real_prompts(source: Arm) -> str:
    sets = find_driver(source.workload.driver).prompt_sets
    real = [each for each in sets if not each.startswith(("random", "synthetic")) and each != FILE]
    if not real:
        raise Refused(f"{source.workload.driver} has no prompts but random ones.")
    return real[0]


@transaction.atomic
def start_experiment(
    *, plan: Plan, on: Run | Comparison, doubted: str, ratio: float | None, by: Person | None
) -> CaveatTest:
    """Queue it. The caveat that asked gets the answer when the campaign has ended.

    ``doubted`` is the word of the verdict that the caveat casts doubt on, ``ratio`` its figure.
    """
    first = plan.arms[0].source
    campaign = open_like(first.campaign, question=plan.question, by=by)
    made = [_arm(campaign, i, each) for i, each in enumerate(plan.arms)]
    queue_blocks(arms=made, launches=plan.launches, by=by)
    experiment = plan.experiment
    return CaveatTest.objects.create(
        **{"run" if isinstance(on, Run) else "comparison": on},
        slug=plan.slug,
        campaign=campaign,
        doubted=doubted,
        by=by,
        plan={
            "words": experiment.words,
            "arms": experiment.arms,
            "metric": experiment.metric,
            "confirmed_by": experiment.confirmed_by,
            "doubted_ratio": ratio,
        },
    )


def _arm(campaign: Campaign, position: int, planned: PlannedArm) -> Arm:
    source, config = planned.source, planned.source.config
    if planned.flags != config.flags:
        config = ServerConfig.objects.create(
            **{
                name: getattr(config, name)
                for name in ("engine", "model", "env", "port", "gpus", "launcher", "unit")
            },
            flags=planned.flags,
            launcher_settings=config.launcher_settings,
            parent=config,
            revision=config.revision + 1,
        )
    workload = planned.workload
    if workload._state.adding:
        workload.save()
    return Arm.objects.create(
        campaign=campaign,
        position=position,
        name=planned.name,
        config=config,
        workload=workload,
        host=source.host,
        derived_from=source,
    )
