"""What a campaign or a comparison lacks, and what filling it would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.actions.launch import why_no_load, why_not_launchable
from runs.actions.missing import Wanted, missing_launches
from runs.comparisons import Compared, Pair
from runs.expected import expected_seconds, minutes
from runs.judging import PLANNED
from runs.metrics.planning import MOST_REPEATS
from runs.metrics.wording import Word
from runs.models import Arm, Campaign, Run, Workload
from runs.sides import Side

COUNTS = "requests_per_level"


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
    wanted = Counter(run.arm_id for run in missing)
    why = next((said for pk in wanted if (said := why_not_again(arms[pk]))), "")
    cost = price((arms[pk].workload, arms[pk], launches) for pk, launches in wanted.items())
    return MissingLaunches(missing, cost, why)


def why_not_again(arm: Arm) -> str:
    """Why no further launch of an arm can be queued; empty if it can."""
    if why := why_not_launchable(arm.config) or why_no_load(arm.workload):
        return why
    return "" if arm.host.can_connect else f"{arm.host} cannot be reached from here."


def price(wanted: Iterable[tuple[Workload, Arm, int]]) -> int | None:
    """Minutes of so many launches of each of these loads together; None unless all are known."""
    each = [(expected_seconds(load, arm.host), launches) for load, arm, launches in wanted]
    known = [seconds * launches for seconds, launches in each if seconds is not None]
    return minutes(sum(known)) if known and len(known) == len(each) else None


@dataclass(frozen=True)
class Gap:
    """Something a comparison lacks; ``why`` says what, and what measuring it means."""

    wanted: Wanted
    name: str
    why: str

    @property
    def workload(self) -> Workload:
        """The load of its launches; not saved where it has other levels than the arm's."""
        own = self.wanted.arm.workload
        if not self.wanted.levels:
            return own
        levels = self.wanted.levels
        return Workload(
            levels=list(levels),
            requests_per_level=list(levels.values()),
            max_tokens=own.max_tokens,
        )


@dataclass(frozen=True)
class Confirmation:
    """The same arms once more, judged by themselves, because their plan is over."""

    sides: list[Side]
    launches: int


@dataclass(frozen=True)
class Gaps:
    """All that a comparison lacks. ``remarks`` say what no run from here would fill.

    ``late`` counts launches that were added after the plan's last look and are counted.
    """

    gaps: list[Gap]
    confirmation: Confirmation | None
    remarks: list[str]
    late: int

    @property
    def any(self) -> bool:
        return bool(self.gaps or self.confirmation)

    @property
    def launches(self) -> int:
        confirming = self.confirmation
        own = len(confirming.sides) * confirming.launches if confirming else 0
        return own + sum(gap.wanted.launches for gap in self.gaps)

    @property
    def arms(self) -> list[Arm]:
        told = [gap.wanted.arm for gap in self.gaps]
        return told + [side.arm for side in self.confirmation.sides] if self.confirmation else told

    def minutes(self) -> int | None:
        """Of all launches together, as far as each of them is known."""
        told = [(gap.workload, gap.wanted.arm, gap.wanted.launches) for gap in self.gaps]
        if self.confirmation:
            arms = [side.arm for side in self.confirmation.sides]
            told += [(arm.workload, arm, self.confirmation.launches) for arm in arms]
        return price(told)


def gaps_of(compared: Compared) -> Gaps:
    """Failed launches and missing levels first; only a comparison without them lacks repeats."""
    launchable = [side for side in compared.sides if _is_ours(side)]
    gaps = [_failed(side, runs) for side in launchable if (runs := _bad(side))]
    lacking, remarks = _levels(compared, launchable)
    gaps += lacking
    late = sum(_late(side) for side in compared.sides)
    if gaps or any(_is_going(side) for side in compared.sides):
        return Gaps(gaps, None, remarks, late)
    if len(launchable) < len(compared.sides):
        return Gaps([], None, [], late)
    repeats = _repeats(compared)
    remarks += _too_many(compared)
    confirmation = None if repeats else _confirmation(compared, late)
    if confirmation and (confirmed := _confirmed(compared)):
        return Gaps([], None, [*remarks, confirmed], late)
    return Gaps(repeats, confirmation, remarks, late)


def _is_ours(side: Side) -> bool:
    """Whether it was, or could be, launched from here; the confirm page looks more closely."""
    arm = side.arm
    return not (why_not_launchable(arm.config) or why_no_load(arm.workload)) and bool(
        arm.host.address
    )


def _is_going(side: Side) -> bool:
    return any(not launch.run.is_final for launch in side.launches)


def _bad(side: Side) -> list[Run]:
    return missing_launches([launch.run for launch in side.launches])


def _failed(side: Side, runs: list[Run]) -> Gap:
    which = ", ".join(str(run.launch) for run in runs)
    many = "es" if len(runs) > 1 else ""
    return Gap(
        Wanted(side.arm, len(runs), retries=runs),
        side.name,
        f"launch{many} {which} did not succeed: once more, as planned",
    )


def _levels(compared: Compared, launchable: Sequence[Side]) -> tuple[list[Gap], list[str]]:
    """Levels that another arm measured and this one's workload has not got."""
    asked = _requests(compared.sides)
    gaps, remarks = [], []
    for side in launchable:
        lacking = [c for c in asked if c not in {*side.concurrencies, *side.arm.workload.levels}]
        if not lacking or not side.counted:
            continue
        where = " and ".join(map(str, lacking))
        if differing := _differing(side, compared.sides):
            remarks.append(
                f"{side.name} has no level {where}, and no run of it would fit: its workload "
                f"differs in {differing}."
            )
            continue
        launches = max(other.n for other in compared.sides if {*lacking} & {*other.concurrencies})
        gaps.append(
            Gap(
                Wanted(side.arm, launches, {c: asked[c] for c in lacking}),
                side.name,
                f"no level {where}: the same server with only these levels, an arm beside it, "
                "since other levels are another workload",
            )
        )
    return gaps, remarks


def _requests(sides: Sequence[Side]) -> dict[int, int]:
    """Levels that were measured, with the requests that were asked for there."""
    told: dict[int, int] = {}
    for side in sides:
        load = side.arm.workload
        asked = getattr(load, COUNTS)
        each = asked if isinstance(asked, list) else [asked] * len(load.levels)
        told |= {
            concurrency: count
            for concurrency, count in zip(load.levels, each, strict=False)
            if concurrency in side.concurrencies and isinstance(count, int)
        }
    return dict(sorted(told.items()))


def _differing(side: Side, sides: Sequence[Side]) -> str:
    ours = _load(side)
    names = {name for other in sides for name, value in _load(other).items() if ours[name] != value}
    return ", ".join(sorted(name.replace("_", " ") for name in names))


def _load(side: Side) -> Mapping[str, Any]:
    told = side.arm.workload.settings()
    return {name: value for name, value in told.items() if name != COUNTS}


def _repeats(compared: Compared) -> list[Gap]:
    """Of single launches no word was said yet, so more of them are no peeking."""
    if not any(pair.judged.judgement.sweep.word is Word.HINT for pair in compared.pairs):
        return []
    return [
        Gap(
            Wanted(side.arm, PLANNED - side.n),
            side.name,
            f"{side.n} of {PLANNED} launches: too few for a verdict",
        )
        for side in compared.sides
        if 0 < side.n < PLANNED
    ]


def _undecided(compared: Compared) -> list[tuple[Pair, int]]:
    """Pairs that more launches might decide, each with the launches per arm that it takes."""
    found = []
    for pair in compared.pairs:
        sweep = pair.judged.judgement.sweep
        if sweep.word is Word.CANNOT_TELL and sweep.more:
            found.append((pair, min(len(sweep.before), len(sweep.after)) + sweep.more))
    return found


def _confirmation(compared: Compared, late: int) -> Confirmation | None:
    open_pairs = [(pair, n) for pair, n in _undecided(compared) if n <= MOST_REPEATS]
    if open_pairs:
        sides = [compared.base, *(pair.other for pair, _ in open_pairs)]
        return Confirmation(sides, max(PLANNED, *(n for _, n in open_pairs)))
    return Confirmation(list(compared.sides), PLANNED) if late else None


def _confirmed(compared: Compared) -> str:
    """That these arms have a confirmation already: of several the one that pleases would be told.

    It may itself be open; then it is confirmed, and not this comparison once more.
    """
    others = [side.arm for side in compared.sides[1:]]
    campaigns = {side.arm.campaign_id for side in compared.sides}
    again = Arm.objects.filter(derived_from__in=others, campaign__confirms__in=campaigns)
    first = again.order_by("campaign").values_list("campaign", flat=True).first()
    if first is None:
        return ""
    return (
        f"Campaign {first} was begun to confirm this. Its word counts, whatever it is: who "
        "confirms until one pleases finds what is not there."
    )


def _too_many(compared: Compared) -> list[str]:
    return [
        f"{pair.other.name}: more than {MOST_REPEATS} launches each would be needed. A quieter "
        "host or longer levels tell more than repeats."
        for pair, needed in _undecided(compared)
        if needed > MOST_REPEATS
    ]


def _late(side: Side) -> int:
    """Launches beyond what the plan had, and those that were queued when its last look was over.

    A planned launch that failed and is made again then is one of them: what the others say is
    known when somebody asks for it. An arm that only began afterwards was never looked at.
    """
    campaign = side.arm.campaign
    if not campaign.plan_is_over:
        return 0
    ended = datetime.fromisoformat(campaign.looked[-1]["at"]) if campaign.looked else None
    looked_at = ended and any(launch.run.queued_at <= ended for launch in side.launches)
    return sum(
        run.launch > campaign.looks[-1] or bool(ended and looked_at and run.queued_at > ended)
        for run in (launch.run for launch in side.counted)
    )
