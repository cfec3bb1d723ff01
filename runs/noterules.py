"""Which runs the rules that were notes match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from django.db.models import F

from runs.caveats.predicate import Clause, Value, holds, read_predicate
from runs.models import Arm, NoteRule, Run

_FLAGS = {
    "config.spec_algorithm": "--speculative-algorithm",
    "config.spec_steps": "--speculative-num-steps",
    "config.spec_draft_tokens": "--speculative-num-draft-tokens",
    "config.spec_topk": "--speculative-eagle-topk",
    "config.max_running_requests": "--max-running-requests",
}
_TP = ("--tp", "--tp-size", "--tensor-parallel-size")
_SETTINGS = (
    "temperature", "ignore_eos", "prompt_set", "driver", "input_tokens", "max_tokens",
    "cache_policy",
)  # fmt: skip


def values_of(arm: Arm) -> dict[str, Value]:
    """What a predicate may ask of an arm; see ``runs.caveats.predicate.KEYS``."""
    config, workload = arm.config, arm.workload
    told: dict[str, Value] = {f"workload.{k}": getattr(workload, k) for k in _SETTINGS}
    told = {key: None if value == "" else value for key, value in told.items()}
    flags = config.flags
    told |= {key: flags.get(flag) for key, flag in _FLAGS.items()}
    return {
        **told,
        "config.engine": config.engine,
        "config.model": PurePosixPath(config.model).name,
        "config.tp": next((flags[flag] for flag in _TP if flag in flags), None),
        "config.cuda_graph": "--disable-cuda-graph" not in flags,
        "config.overlap": "--disable-overlap-schedule" not in flags,
        "host.name": arm.host.name,
    }


def matching_arms(predicate: str | tuple[Clause, ...], arms: Iterable[Arm]) -> list[Arm]:
    clauses = read_predicate(predicate) if isinstance(predicate, str) else predicate
    return [arm for arm in arms if holds(clauses, values_of(arm))]


def matching_runs(predicate: str) -> list[Run]:
    """All runs of which it holds, the newest first. Raises PredicateError."""
    arms = Arm.objects.select_related("config", "workload", "host")
    ids = [arm.pk for arm in matching_arms(predicate, arms)]
    return list(Run.objects.for_lists().filter(arm__in=ids).order_by("-pk"))


def rules_on(arms: Sequence[Arm], run: Run | None = None) -> list[NoteRule]:
    """The standing rules that hold on one of the arms (or on the run), the newest first.

    An arm counts unless each of its runs is excepted.
    """
    rules = NoteRule.objects.filter(undone_at=None).order_by("-pk")
    rules = rules.select_related("by", "note__author", "note__run", "note__campaign")
    excepted_by: dict[NoteRule, set[int]] = {}
    for each in rules.annotate(excepted=F("exceptions__run")):  # a row for each exception
        excepted_by.setdefault(each, set()).update([each.excepted] if each.excepted else [])
    runs = _runs(arms) if run is None and any(excepted_by.values()) else {}
    found: list[NoteRule] = []
    for rule, excepted in excepted_by.items():
        hit = matching_arms(rule.predicate, arms)
        if run is not None:
            holds_here = bool(hit) and run.pk not in excepted
        else:
            # an arm without any run yet counts, too: the note holds on what will run
            ran = [runs.get(arm.pk, set()) for arm in hit]
            holds_here = any(not ids or ids - excepted for ids in ran)
        if holds_here:
            found.append(rule)
    return found


def _runs(arms: Sequence[Arm]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for arm, run in Run.objects.filter(arm__in=arms).values_list("arm", "pk"):
        found.setdefault(arm, set()).add(run)
    return found
