"""From the typed fields of a launch to arms and their exact commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.engines.engine import Engine
from runs.engines.redact import redact_text
from runs.engines.registry import ENGINES
from runs.engines.sglang.flags import FlagError
from runs.forms.environment import as_words

# SGLang's flags of speculation, by the typed field; vLLM says all of them in one flag.
SPECULATION = {
    "speculative_algorithm": "--speculative-algorithm",
    "draft_model_path": "--speculative-draft-model-path",
    "steps": "--speculative-num-steps",
    "eagle_topk": "--speculative-eagle-topk",
}
OURS = {"--model-path": "model_path", "--model": "model_path", "--port": "port", "--host": "host"}
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
    engine = ENGINES[told["engine"]]
    fields = engine.fields
    base = {flag: told[field] for field, flag in fields.items() if told.get(field) is not None}
    extra = _extra(engine, told.get("extra") or "")
    _refuse_doubles(fields, extra, told)
    return [
        _arm("ABCDEF"[i], name, {**base, **speculation, **extra}, told)
        for i, (name, speculation) in enumerate(_speculations(engine, told))
    ]


def _extra(engine: Engine, text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        raise ArmsRefused("extra", "A quotation mark is not closed.") from None
    if words and not words[0].startswith("-"):
        raise ArmsRefused("extra", f"“{words[0]}” is no flag: flags begin with --.")
    try:
        flags = engine.read_flags(words) if words else {}
    except FlagError as error:
        raise ArmsRefused("extra", str(error)) from None
    if redact_text(text) != text:
        raise ArmsRefused("extra", "A secret stands here, and everybody on the host reads it.")
    return flags


def _refuse_doubles(
    fields: Mapping[str, str], extra: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    for field, flag in {**fields, **SPECULATION}.items():
        if flag in extra and told.get(field) not in (None, "", []):
            raise ArmsRefused("extra", f"{flag} stands in its own field already.")
    for flag in OURS:
        if flag in extra:
            where = "is set for every server here" if flag == "--host" else "has its own field"
            raise ArmsRefused("extra", f"{flag} {where}.")


def _speculations(engine: Engine, told: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    algorithm, steps = told.get("speculative_algorithm"), told.get("steps") or []
    if not algorithm:
        if any(steps):
            raise ArmsRefused("steps", "Steps need a speculative algorithm: choose one above.")
        return [(PLAIN, {})]
    if not steps:
        raise ArmsRefused("steps", "Say for which numbers of steps to make arms, such as 1, 2.")
    if algorithm == "STANDALONE" and not told.get("draft_model_path"):
        raise ArmsRefused("draft_model_path", "STANDALONE drafts with a model of its own: name it.")
    topk, draft = told.get("eagle_topk"), told.get("draft_model_path") or ""
    try:
        return [
            (f"steps={n}", engine.speculation(algorithm, steps=n, topk=topk, draft=draft))
            if n
            else (PLAIN, {})
            for n in steps
        ]
    except FlagError as error:
        raise ArmsRefused(_field_of(engine, error.flag), f"{error.message}.") from None


def _arm(letter: str, name: str, flags: dict[str, Any], told: Mapping[str, Any]) -> PlannedArm:
    engine = ENGINES[told["engine"]]
    try:
        final, derived = engine.rerun({}, flags)
        words = engine.command(final, model=told["model_path"], port=told["port"])
    except FlagError as error:
        where = _field_of(engine, error.flag)
        raise ArmsRefused(where, f"{error.flag} {error.message}.") from None
    command = as_words(told.get("env") or {}) + laid_out(words)
    return PlannedArm(letter, name, final, derived, command)


def laid_out(words: Sequence[str]) -> str:
    """The command as it may be pasted into a shell: one flag a line, so that it can be read."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def _field_of(engine: Engine, flag: str) -> str:
    fields = {flag: field for field, flag in {**engine.fields, **SPECULATION}.items()} | OURS
    return fields.get(flag, "extra")
