"""What else differs between the sides of a comparison, and what is missing of them."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from runs.armfacts import NOT_TOLD, engine_version
from runs.comparisons import Compared, Pair
from runs.engines.registry import ENGINES
from runs.engines.sglang.flags import FlagError
from runs.metrics.configdiff import Change, Config, config_diff
from runs.models import ServerConfig, State
from runs.sides import Launch, Side

# a piece of a text, and whether it is in this one alone
Piece = tuple[str, bool]
LONG, LONGEST = 24, 2000  # characters of which it is worth to tell where they differ
ALIKE = 0.5
# of a start-up log, what limits the measurement; the rest is the engine's own business
LIMITS = ("max_running_requests", "max_total_num_tokens", "kv_cache_tokens", "context_len")


@dataclass(frozen=True)
class Chip:
    """A word on whether the sides may be compared. ``ok`` False is a warning."""

    ok: bool
    words: str


@dataclass(frozen=True)
class Difference:
    """One key that differs. ``group``: intended, incidental, environment or workload."""

    key: str
    before: str
    after: str
    group: str
    why: str

    @property
    def pieces(self) -> tuple[list[Piece], list[Piece]] | None:
        """Of two long texts what differs in them; None where they are short or all different."""
        if min(len(self.before), len(self.after)) < LONG:
            return None
        return differing_pieces(self.before, self.after)


def differing_pieces(before: str, after: str) -> tuple[list[Piece], list[Piece]] | None:
    """Each text in pieces, with whether the other has it, too; None if they share too little."""
    found = SequenceMatcher(None, before[:LONGEST], after[:LONGEST], autojunk=False)
    if found.ratio() < ALIKE:
        return None
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, a0, a1, b0, b1 in found.get_opcodes():
        left += [(before[a0:a1], tag != "equal")] if a1 > a0 else []
        right += [(after[b0:b1], tag != "equal")] if b1 > b0 else []
    return left + _rest(before), right + _rest(after)


def _rest(text: str) -> list[Piece]:
    return [(text[LONGEST:], True)] if len(text) > LONGEST else []


def chips(compared: Compared) -> list[Chip]:
    """Host, model, engine, workload, order of launches, running limit."""
    sides = compared.sides
    found = [
        _same("host", {side.arm.host.name for side in sides}),
        _same("model", {side.arm.config.model for side in sides}),
        _workload(sides),
        _engine(sides),
        _campaigns(sides),
        _order(sides),
        _limit(sides),
    ]
    return [chip for chip in found if chip is not None]


def _same(what: str, values: set[Any]) -> Chip:
    if values == {NOT_TOLD}:
        return Chip(False, f"{what} not told")
    return Chip(True, f"same {what}") if len(values) == 1 else Chip(False, f"{what} differs")


def _workload(sides: Sequence[Side]) -> Chip:
    first = sides[0].arm.workload.settings()
    others = [side.arm.workload.settings() for side in sides[1:]]
    if not any(_is_told(value) for told in (first, *others) for value in told.values()):
        return Chip(False, "workload not told")
    differing = sorted({key for other in others for key in first if first[key] != other[key]})
    if not differing:
        return Chip(True, "same workload")
    return Chip(False, f"workload differs: {', '.join(k.replace('_', ' ') for k in differing)}")


def _engine(sides: Sequence[Side]) -> Chip | None:
    told = {engine_version(side) for side in sides}
    names = {side.arm.config.engine for side in sides}
    if len(names) > 1:
        return Chip(False, "engine differs")
    if "unknown" in names:
        return Chip(False, "engine not told")
    if None in told:
        return Chip(True, "same engine, version not told")
    return _same("engine version", told)


def _campaigns(sides: Sequence[Side]) -> Chip | None:
    """Arms of several campaigns were not planned together, so nothing pairs them in time."""
    several = len({side.arm.campaign_id for side in sides})
    if several < 2:
        return None
    words = f"of {several} campaigns, unpaired in time"
    began = [[ln.run.started_at for ln in side.counted if ln.run.started_at] for side in sides]
    if not all(began):
        return Chip(False, f"{words}, when is not told")
    first = sorted(min(moments) for moments in began)
    hours = (first[-1] - first[0]).total_seconds() / 3600
    apart = f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.0f} h"
    return Chip(False, f"{words}, {apart} apart" if hours >= 1 else words)


def _order(sides: Sequence[Side]) -> Chip | None:
    """ "interleaved A B B A", or a warning if all launches of one arm came first."""
    runs = [
        (launch.run.started_at, side.letter)
        for side in sides
        for launch in side.counted
        if launch.run.started_at is not None
    ]
    if len(runs) <= len(sides):
        return None
    letters = [letter for _, letter in sorted(runs)]
    turns = sum(a != b for a, b in itertools.pairwise(letters))
    if turns < len(sides):
        return Chip(False, f"not interleaved: {' '.join(letters)}")
    return Chip(True, f"interleaved {' '.join(letters)}")


def _limit(sides: Sequence[Side]) -> Chip | None:
    limits = {side.limit for side in sides if side.limit is not None}
    if len(limits) > 1:
        return Chip(False, "running limit differs")
    return Chip(True, "same running limit") if limits and _all_told(sides) else None


def _all_told(sides: Sequence[Side]) -> bool:
    return all(side.limit is not None for side in sides)


def differences(pair: Pair) -> tuple[list[Difference], int]:
    """What differs between the two, and how many keys were compared."""
    a, b = _config(pair.base), _config(pair.other)
    work_a, work_b = pair.base.arm.workload.settings(), pair.other.arm.workload.settings()
    rows = [_difference(change, a, b) for change in _diff(a, b)]
    rows += [
        Difference(
            k, _words(work_a[k]), _words(work_b[k]), "workload", "another load was asked for"
        )
        for k in work_a
        if work_a[k] != work_b[k]
    ]
    told = {key for key in work_a if _is_told(work_a[key]) or _is_told(work_b[key])}
    keys = {*a.flags, *b.flags, *a.effective, *b.effective, *a.environment, *b.environment, *told}
    return rows, len(keys)


def alike(pair: Pair) -> list[tuple[str, str]]:
    """The keys that both tell the same of, with their value."""
    a, b = _config(pair.base), _config(pair.other)
    work_a, work_b = pair.base.arm.workload.settings(), pair.other.arm.workload.settings()
    both = [(a.flags, b.flags), (a.effective, b.effective), (a.environment, b.environment)]
    return [
        (key, _words(one[key]))
        for one, two in [*both, (work_a, work_b)]
        for key in one
        if key in two and one[key] == two[key] and _is_told(one[key])
    ]


def _is_told(value: Any) -> bool:
    """Of an import most is not known; what is not known is not alike either."""
    return value not in (None, "", NOT_TOLD)


def _config(side: Side) -> Config:
    config = side.arm.config
    startup: dict[str, Any] = next((ln.attempt.startup for ln in side.counted if ln.attempt), {})
    told = {key: startup[key] for key in LIMITS if startup.get(key) is not None}
    if told.get("kv_cache_tokens") == told.get("max_total_num_tokens"):
        told.pop("kv_cache_tokens", None)  # one fact under two names
    named = {"host": side.arm.host.name, "engine": config.engine, "model": config.model}
    environment = {key: value for key, value in named.items() if _is_told(value)}
    version = engine_version(side)
    if version is not None:
        environment["engine version"] = version
    # a remark of the import on the flags, which are compared themselves
    limits = {key: value for key, value in config.effective.items() if key != "untyped_flags"}
    return Config(config.flags, {**limits, **told}, environment)


def _diff(a: Config, b: Config) -> list[Change]:
    try:
        return config_diff(a, b)
    except FlagError:
        # flags of an import that the engine would refuse today: compared as they stand
        flags = [k for k in {**a.flags, **b.flags} if a.flags.get(k) != b.flags.get(k)]
        told = config_diff(
            Config({}, a.effective, a.environment), Config({}, b.effective, b.environment)
        )
        return [Change(k, a.flags.get(k), b.flags.get(k), "intended", None) for k in flags] + told


def _difference(change: Change, a: Config, b: Config) -> Difference:
    before, after = _words(change.a), _words(change.b)
    if change.group == "incidental":
        before, after = (
            _asked(change.key, _grouped(told), config)
            for told, config in ((change.a, a), (change.b, b))
        )
    return Difference(change.key, before, after, change.group, _why(change))


def _grouped(value: Any) -> str:
    return f"{value:,}" if type(value) is int else _words(value)


def _asked(key: str, told: str, config: Config) -> str:
    """ "asked 128 → effective 26": what was asked for, where something was."""
    asked = config.flags.get(f"--{key.replace('_', '-')}")
    return f"effective {told}" if asked is None else f"asked {_words(asked)} → effective {told}"


def _why(change: Change) -> str:
    if change.follows_from:
        return f"follows {change.follows_from.lstrip('-')}: steps + 1 at topk 1"
    if change.group == "incidental":
        return "nobody asked for it: it came with the rest"
    return "set for this arm" if change.group == "intended" else "the surroundings differ"


def _words(value: Any) -> str:
    if value is None:
        return "not set"
    if value is True:
        return "on"
    if value is False:
        return "off"
    return str(value)


@dataclass(frozen=True)
class Coverage:
    """What a side consists of, and what was left out of it."""

    side: Side
    words: str
    left_out: list[Launch]
    waiting: list[Launch]
    missing: list[int]  # levels that another side has


def coverage(compared: Compared) -> list[Coverage]:
    everywhere = sorted({c for side in compared.sides for c in side.concurrencies})
    return [_coverage(side, everywhere) for side in compared.sides]


def _coverage(side: Side, everywhere: Sequence[int]) -> Coverage:
    lines, damaged = _log_lines(side)
    launches = f"{side.n} launch{'' if side.n == 1 else 'es'}"
    levels = f"{len(side.figures)} level{'' if len(side.figures) == 1 else 's'}"
    log = f", {lines:,} log lines, {damaged} damaged" if lines else ", no log"
    bad = [ln for ln in side.launches if ln.run.is_final and ln.run.state != State.SUCCEEDED]
    return Coverage(
        side=side,
        words=f"{launches}, {levels}{log}.",
        left_out=bad,
        waiting=[ln for ln in side.launches if not ln.run.is_final],
        missing=[c for c in everywhere if c not in side.concurrencies],
    )


def _log_lines(side: Side) -> tuple[int, int]:
    logs = [launch.log for launch in side.counted]
    return sum(log.lines for log in logs), sum(log.damaged for log in logs)


def commands(compared: Compared) -> list[tuple[Side, str]]:
    """Each side's launch command."""
    return [(side, launch_command(side.arm.config)) for side in compared.sides]


def launch_command(config: ServerConfig) -> str:
    """The words that start the server; of flags that the engine refuses today, the flags."""
    try:
        words = ENGINES[config.engine].command(config.flags, model=config.model, port=config.port)
    except (KeyError, ValueError):
        return told_flags(config)
    return shlex.join(words)


def told_flags(config: ServerConfig) -> str:
    """The flags as they were found, without what a launch from here would add."""
    words: list[str] = []
    for flag, value in config.flags.items():
        values = value if isinstance(value, list) else [value]
        words += [flag, *(str(each) for each in values if each is not True)]
    return shlex.join(words)
