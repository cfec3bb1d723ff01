"""Launch flags to the command and back, and the values that follow from others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runs.engines.sglang.flags import (
    SPECS,
    FlagError,
    Flags,
    FlagValue,
    canonical,
    checked,
    typed,
)

MODULE = ("-m", "sglang.launch_server")
ALGORITHM = "--speculative-algorithm"
DRAFT_MODEL = "--speculative-draft-model-path"
STEPS = "--speculative-num-steps"
TOPK = "--speculative-eagle-topk"
DRAFT_TOKENS = "--speculative-num-draft-tokens"
# Words people use for flags when they ask for a rerun.
SHORT_NAMES = {
    "steps": STEPS,
    "topk": TOPK,
    "draft-tokens": DRAFT_TOKENS,
    "algorithm": ALGORITHM,
    "max-running": "--max-running-requests",
}
# These size their own draft; the chain rule is not theirs.
_OWN_DRAFT = {"DFLASH", "DSPARK", "NGRAM"}


@dataclass(frozen=True, slots=True)
class Derived:
    """A flag whose value follows from others: what it was, what it becomes, why."""

    key: str
    old: FlagValue | None
    new: FlagValue | None
    why: str


@dataclass(frozen=True, slots=True)
class FlagChange:
    """One flag that differs between two configs; None is a flag that is not there."""

    key: str
    old: FlagValue | None
    new: FlagValue | None


@dataclass(frozen=True, slots=True)
class Rerun:
    """The flags to run again with, what was asked to change and what changes because of it."""

    flags: Flags
    asked: tuple[FlagChange, ...]
    derived: tuple[Derived, ...]


@dataclass(frozen=True, slots=True)
class SglangArgs:
    """The typed flags of one launch, None where nothing was said, and every other flag in order.

    `mem_fraction_static` is a fraction of the GPU's memory. `extra` are raw tokens.
    """

    model_path: str | None
    host: str | None
    port: int | None
    tp: int | None
    speculative_algorithm: str | None
    speculative_num_steps: int | None
    speculative_eagle_topk: int | None
    speculative_num_draft_tokens: int | None
    draft_model_path: str | None
    mem_fraction_static: float | None
    max_running_requests: int | None
    disable_cuda_graph: bool
    extra: tuple[str, ...]


_ARGS = {
    "--model-path": "model_path",
    "--host": "host",
    "--port": "port",
    "--tp": "tp",
    ALGORITHM: "speculative_algorithm",
    STEPS: "speculative_num_steps",
    TOPK: "speculative_eagle_topk",
    DRAFT_TOKENS: "speculative_num_draft_tokens",
    DRAFT_MODEL: "draft_model_path",
    "--mem-fraction-static": "mem_fraction_static",
    "--max-running-requests": "max_running_requests",
    "--disable-cuda-graph": "disable_cuda_graph",
}


def validate(flags: Mapping[str, object]) -> Flags:
    """Give the flags in one spelling and typed, in the given order. Raises FlagError.

    A value of False or None is a flag that is not there.
    """
    told = checked(flags, canonical, typed)
    _check_speculation(told)
    return told


def _check_speculation(flags: Flags) -> None:
    for flag in (STEPS, TOPK, DRAFT_TOKENS):
        if flag in flags and ALGORITHM not in flags:
            raise FlagError(flag, f"needs {ALGORITHM}")
    if STEPS not in flags and TOPK in flags and flags.get(ALGORITHM) not in _OWN_DRAFT:
        raise FlagError(TOPK, f"needs {STEPS}: without it the engine chooses both itself")


def parse(flags: Mapping[str, object]) -> SglangArgs:
    """Give the typed form. Raises FlagError."""
    checked = validate(flags)
    named: dict[str, object] = dict.fromkeys(_ARGS.values())
    named["disable_cuda_graph"] = False
    rest = dict(checked)
    for flag, name in _ARGS.items():
        if flag in rest:
            named[name] = rest.pop(flag)
    return SglangArgs(**named, extra=tuple(tokens(rest)))  # type: ignore[arg-type]


def tokens(flags: Flags) -> list[str]:
    """Write flags as the words of a command line; a value that begins with '-' is joined by '='."""
    words: list[str] = []
    for flag, value in flags.items():
        if value is True:
            words.append(flag)
        elif isinstance(value, list):
            words += [flag, *value]
        elif str(value).startswith("-"):
            words.append(f"{flag}={value}")
        else:
            words += [flag, str(value)]
    return words


def command(flags: Mapping[str, object], python: str = "python3") -> list[str]:
    """Give the words of the launch command. Raises FlagError when the model is missing, too."""
    checked = validate(flags)
    if "--model-path" not in checked:
        raise FlagError("--model-path", "is needed to start a server")
    return [python, *MODULE, *tokens(checked)]


def from_tokens(words: Iterable[str]) -> Flags:
    """Read flags from words, with or without the program in front. Raises FlagError.

    A flag that is followed by another flag, or by nothing, has no value.
    """
    flags: Flags = {}
    current: str | None = None
    for word in words:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            current = canonical(flag)
            if current in flags:
                raise FlagError(flag, "is given twice")
            flags[current] = value if equals else True
        elif current is not None:
            flags[current] = _with_word(current, flags[current], word)
    return validate(flags)


def _with_word(flag: str, value: FlagValue, word: str) -> FlagValue:
    if value is True:
        return word
    if flag in SPECS:
        raise FlagError(flag, f"takes one value, and {word!r} follows it")
    return [*value, word] if isinstance(value, list) else [str(value), word]


def derive(flags: Mapping[str, object]) -> tuple[Flags, list[Derived]]:
    """Give the flags as the engine will have them, and what changed. Raises FlagError."""
    checked = validate({**flags} if ALGORITHM in flags else _without_speculation(flags))
    changes = [
        Derived(flag, _plain(value), None, f"means nothing without {ALGORITHM}")
        for flag, value in flags.items()
        if canonical(flag).startswith("--speculative-") and canonical(flag) not in checked
    ]
    steps, topk = checked.get(STEPS), checked.get(TOPK)
    if isinstance(steps, int) and topk == 1 and checked.get(ALGORITHM) not in _OWN_DRAFT:
        old, new = checked.get(DRAFT_TOKENS), steps + 1
        if old != new:
            why = "with topk 1 the draft is a chain: draft tokens = steps + 1"
            changes.append(Derived(DRAFT_TOKENS, old, new, why))
            checked = _in_place(checked, DRAFT_TOKENS, new, after=TOPK)
    return checked, changes


def _without_speculation(flags: Mapping[str, object]) -> dict[str, object]:
    return {
        flag: value
        for flag, value in flags.items()
        if not canonical(flag).startswith("--speculative-")
    }


def _plain(value: object) -> FlagValue | None:
    return value if isinstance(value, str | int | float | list) else None


def _in_place(flags: Flags, key: str, value: FlagValue, after: str) -> Flags:
    """Set a flag where it stands, or behind another, so that commands stay readable."""
    if key in flags:
        return {**flags, key: value}
    placed: Flags = {}
    for flag, old in flags.items():
        placed[flag] = old
        if flag == after:
            placed[key] = value
    return placed


def rerun(flags: Mapping[str, object], overrides: Mapping[str, object]) -> Rerun:
    """Apply what is asked for to the flags of an earlier launch. Raises FlagError.

    A value of None (or False) takes the flag away. Keys may be short names ('steps').
    """
    before = validate(flags)
    asked = {canonical(SHORT_NAMES.get(key, key)): value for key, value in overrides.items()}
    merged: dict[str, object] = {**before, **asked}
    gone = (None, False)
    wanted = {key: value for key, value in merged.items() if not any(value is no for no in gone)}
    after, derived = derive(wanted)
    follows = {change.key for change in derived}
    changes = [change for change in flag_diff(before, after) if change.key not in follows]
    return Rerun(after, tuple(changes), tuple(derived))


def flag_diff(before: Mapping[str, object], after: Mapping[str, object]) -> list[FlagChange]:
    """List the flags that differ, in the order of the first config, then of the second."""
    left, right = validate(before), validate(after)
    return [
        FlagChange(flag, left.get(flag), right.get(flag))
        for flag in {**left, **right}
        if left.get(flag) != right.get(flag)
    ]


def override(text: str) -> dict[str, str]:
    """Read a chip such as 'steps=3' or '--port=30001'. Raises FlagError."""
    name, equals, value = text.strip().partition("=")
    flag = SHORT_NAMES.get(name, name)
    if not equals or not value:
        raise FlagError(name or "=", "write it as name=value, such as steps=3")
    return {canonical(flag): value}


def attribute(flag: str) -> str:
    """Name the resolved argument that a flag sets: '--tp' sets tp_size."""
    spec = SPECS.get(flag)
    return spec.attribute if spec else flag.removeprefix("--").replace("-", "_")
