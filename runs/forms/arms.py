"""From the typed fields of a launch to arms and their exact commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.engines.redact import redact_text
from runs.engines.registry import ENGINES
from runs.engines.sglang.flags import FlagError
from runs.engines.sglang.launch import from_tokens

# Each typed field and the flag it stands for; the order is the order in the command.
FIELDS = {
    "tp": "--tp",
    "mem_fraction_static": "--mem-fraction-static",
    "max_running_requests": "--max-running-requests",
}
SPECULATION = {
    "speculative_algorithm": "--speculative-algorithm",
    "draft_model_path": "--speculative-draft-model-path",
    "steps": "--speculative-num-steps",
    "eagle_topk": "--speculative-eagle-topk",
}
OURS = {"--model-path": "model_path", "--port": "port", "--host": "host"}
PLAIN = "no speculation"


@dataclass(frozen=True)
class PlannedArm:
    """An arm as it would be started; ``derived`` maps a flag that follows to the reason."""

    letter: str
    name: str
    flags: dict[str, Any]
    derived: dict[str, str]
    command: str


class ArmsRefused(Exception):
    """Arms that cannot be right: the field that has to change, and the reason."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


def plan_arms(told: Mapping[str, Any]) -> list[PlannedArm]:
    """One arm for each number of steps. ``told`` are the cleaned fields; raises ArmsRefused.

    Zero steps is the server without speculation, to compare against.
    """
    base = {flag: told[field] for field, flag in FIELDS.items() if told.get(field) is not None}
    extra = _extra(told.get("extra") or "")
    _refuse_doubles(extra, told)
    return [
        _arm("ABCDEF"[i], name, {**base, **speculation, **extra}, told)
        for i, (name, speculation) in enumerate(_speculations(told))
    ]


def _extra(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        raise ArmsRefused("extra", "A quotation mark is not closed.") from None
    if words and not words[0].startswith("--"):
        raise ArmsRefused("extra", f"“{words[0]}” is no flag: flags begin with --.")
    try:
        flags = dict(from_tokens(words)) if words else {}
    except FlagError as error:
        raise ArmsRefused("extra", str(error)) from None
    if redact_text(text) != text:
        raise ArmsRefused("extra", "A secret stands here, and everybody on the host reads it.")
    return flags


def _refuse_doubles(extra: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    for field, flag in {**FIELDS, **SPECULATION}.items():
        if flag in extra and told.get(field) not in (None, "", []):
            raise ArmsRefused("extra", f"{flag} stands in its own field already.")
    for flag in OURS:
        if flag in extra:
            where = "is set for every server here" if flag == "--host" else "has its own field"
            raise ArmsRefused("extra", f"{flag} {where}.")


def _speculations(told: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    algorithm, steps = told.get("speculative_algorithm"), told.get("steps") or []
    if not algorithm:
        if any(steps):
            raise ArmsRefused("steps", "Steps need a speculative algorithm: choose one above.")
        return [(PLAIN, {})]
    if not steps:
        raise ArmsRefused("steps", "Say for which numbers of steps to make arms, such as 1, 2.")
    if algorithm == "STANDALONE" and not told.get("draft_model_path"):
        raise ArmsRefused("draft_model_path", "STANDALONE drafts with a model of its own: name it.")
    return [(f"steps={n}", _speculation(told, n)) if n else (PLAIN, {}) for n in steps]


def _speculation(told: Mapping[str, Any], steps: int) -> dict[str, Any]:
    values = {**told, "steps": steps}
    return {flag: values[f] for f, flag in SPECULATION.items() if values.get(f) not in (None, "")}


def _arm(letter: str, name: str, flags: dict[str, Any], told: Mapping[str, Any]) -> PlannedArm:
    engine = ENGINES[told["engine"]]
    try:
        final, derived = engine.rerun({}, flags)
        words = engine.command(final, model=told["model_path"], port=told["port"])
    except FlagError as error:
        raise ArmsRefused(_field_of(error.flag), f"{error.flag} {error.message}.") from None
    return PlannedArm(letter, name, final, derived, laid_out(words))


def laid_out(words: Sequence[str]) -> str:
    """The command as it may be pasted into a shell: one flag a line, so that it can be read."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def _field_of(flag: str) -> str:
    fields = {flag: field for field, flag in {**FIELDS, **SPECULATION}.items()} | OURS
    return fields.get(flag, "extra")
