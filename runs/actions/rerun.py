"""Run an arm again with something changed: a revision, an arm beside it, a queued run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from hosts.models import Host
from people.models import Person
from runs.actions.launch import Refused, check_load, queue_run, why_not_launchable
from runs.engines.redact import redact_text
from runs.engines.registry import ENGINES
from runs.models import Arm, Campaign, Run, ServerConfig, Workload

LONGEST_NAME = 120  # Arm.name
OURS = {"--model-path", "--host", "--port"}  # fields of the config; the launch sets them itself
WORKLOAD_KEYS = {"temperature", "max_tokens", "ignore_eos", "seed", "prompt_set", "cache_policy"}


@dataclass(frozen=True)
class FlagChange:
    """One flag before and after; ``why`` is empty for what the person asked for."""

    flag: str
    old: Any
    new: Any
    why: str


@dataclass(frozen=True)
class Proposal:
    """What a rerun would start, for a person to confirm. Nothing is stored by making one."""

    source: Arm
    name: str
    host: Host
    flags: dict[str, Any]
    workload: dict[str, Any]
    changes: list[FlagChange]
    command: list[str]
    already: Arm | None  # an arm of the campaign that is just this; it gets one more launch


def propose(*, source: Arm, overrides: dict[str, Any], host: Host | None = None) -> Proposal:
    """Old and new value of every changed key, what follows from it, and the exact command.

    ``overrides`` maps flags ("--speculative-num-steps": 3) and workload settings
    ("temperature": 0.7) to new values; ``None`` for a flag takes it away.
    Raises :class:`Refused` with the flag and the reason if the server would not accept it.
    """
    if why := why_not_launchable(source.config):
        raise Refused(why, "engine")
    engine = ENGINES[source.config.engine]
    workload = {k: v for k, v in overrides.items() if k in WORKLOAD_KEYS}
    asked = {k: v for k, v in overrides.items() if k not in WORKLOAD_KEYS}
    flags, derived = engine.rerun(source.config.flags, asked)
    changes = _flag_changes(source.config.flags, flags, derived)
    _refuse(source.config, changes)
    now = source.workload.settings()
    changes += [FlagChange(k, now[k], v, "") for k, v in workload.items() if now[k] != v]
    check_load(changed_workload(source.workload, workload))
    if not changes:
        raise Refused("Nothing would change. Queue another launch of the same arm instead.")
    return Proposal(
        source=source,
        name=_name(source, changes),
        host=host or source.host,
        flags=flags,
        workload=workload,
        changes=changes,
        command=engine.command(flags, model=source.config.model, port=source.config.port),
        already=_same(source, flags, workload, host or source.host),
    )


def _refuse(config: ServerConfig, changes: list[FlagChange]) -> None:
    """What a config says elsewhere than in its flags, and what no command line may hold."""
    if changes and not config.sets_arguments:
        raise Refused("This server keeps its own arguments, so none can be changed from here.")
    for change in changes:
        if change.flag in OURS:
            raise Refused(
                f"{change.flag} stays: a campaign of its own may have another.", change.flag
            )
        written = f"{change.flag}={change.new}"
        if redact_text(written) != written:
            raise Refused(
                f"{change.flag} holds a secret, and everybody on the host reads command lines.",
                change.flag,
            )


def _flag_changes(
    old: dict[str, Any], new: dict[str, Any], derived: dict[str, str]
) -> list[FlagChange]:
    keys = [*new, *(k for k in old if k not in new)]
    changed = [k for k in keys if old.get(k) != new.get(k)]
    return [FlagChange(k, old.get(k), new.get(k), derived.get(k, "")) for k in changed]


SHORT = {"--speculative-num-steps": "steps", "temperature": "temp", "cache_policy": "cache"}


def _name(source: Arm, changes: list[FlagChange]) -> str:
    """ "steps=3" from "steps=2": a key that names the old arm is replaced, another is added."""
    parts = [part.strip() for part in source.name.split(",")]
    for change in changes:
        if change.why:
            continue
        short = SHORT.get(change.flag, change.flag.lstrip("-"))
        # by identity: 1 equals True and is a value
        word = short if change.new is True else f"{short}={in_name(change.new)}"
        word = f"no {short}" if change.new is None else word
        parts = [p for p in parts if not p.startswith(f"{short}=")] + [word]
    return ", ".join(parts)[:LONGEST_NAME]


def in_name(value: Any) -> str:
    """A value as it stands in an arm's name, whose parts are apart by commas."""
    return " ".join(str(value).replace(",", ";").split())


def _same(source: Arm, flags: dict[str, Any], workload: dict[str, Any], host: Host) -> Arm | None:
    wanted = {**source.workload.settings(), **workload}
    for arm in source.campaign.arms.select_related("config", "workload"):
        if arm.host == host and arm.config.flags == flags and arm.workload.settings() == wanted:
            return arm
    return None


@transaction.atomic
def rerun(
    *, proposal: Proposal, by: Person | None, predicted: Sequence[dict[str, Any]] = ()
) -> Run:
    """Queue what was proposed: a new launch of an equal arm, else of a new arm beside it.

    ``predicted`` is what was foretold to the person who confirms (:mod:`runs.foretold`). It is kept
    with the run as it was said, so that what is measured can be held against it.
    """
    if not proposal.host.can_connect:
        raise Refused(
            f"{proposal.host} cannot be reached: choose one with an address and a confirmed key.",
            "host",
        )
    arm = proposal.already or _new_arm(proposal)
    launches = arm.runs.count()
    before = proposal.source.runs.order_by("-pk").first()
    return queue_run(arm=arm, launch=launches + 1, by=by, rerun_of=before, predicted=predicted)


def _new_arm(proposal: Proposal) -> Arm:
    source = proposal.source
    campaign = source.campaign
    config = ServerConfig.objects.create(
        engine=source.config.engine,
        model=source.config.model,
        flags=proposal.flags,
        env=source.config.env,
        port=source.config.port,
        gpus=source.config.gpus,
        launcher=source.config.launcher,
        unit=source.config.unit,
        launcher_settings=source.config.launcher_settings,
        parent=source.config,
        revision=source.config.revision + 1,
    )
    return Arm.objects.create(
        campaign=campaign,
        position=campaign.arms.count(),
        name=free_name(campaign, proposal.name),
        config=config,
        workload=_workload(source.workload, proposal.workload),
        host=proposal.host,
        derived_from=source,
    )


def free_name(campaign: Campaign, wanted: str) -> str:
    """``wanted``, or the same with a number behind it while an arm is called so.

    What is too long loses its end, never the number.
    """
    taken = set(campaign.arms.values_list("name", flat=True))
    name, n = wanted[:LONGEST_NAME], 2
    while name in taken:
        number = f" ({n})"
        name, n = wanted[: LONGEST_NAME - len(number)] + number, n + 1
    return name


def _workload(old: Workload, changes: dict[str, Any]) -> Workload:
    made = changed_workload(old, changes)
    if made._state.adding:
        made.save()
    return made


def changed_workload(old: Workload, changes: dict[str, Any]) -> Workload:
    """The workload with other settings, not saved yet; the very same where nothing changes."""
    if not changes:
        return old
    fields = {f.name: getattr(old, f.name) for f in Workload._meta.fields if f.name != "id"}
    return Workload(**{**fields, **changes})
