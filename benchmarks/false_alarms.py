"""How often the verdict cries wolf, and how often it finds what is there.

    .venv/bin/python -m benchmarks.false_alarms [--trials 4000] [--json]

Launches are made with a noise of 1.5 %: of two like arms every word of a direction, "likely" ones
included, is a false alarm; of arms 3 % apart it is a find. History is drawn anew for each trial, as
repeats of a host would give it. With six levels the noise is half the launch's, half the level's;
then an alarm anywhere counts, and so does one of the sweep. "Stops by the rule" is what the
conductor does: looks at 3, 5 and 7 launches, each ends the plan at better, worse or equivalent. The
same seed gives the same table.
Status 1 if the rule, used as it is meant to be, cries wolf in more than 5 % of cases.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from runs.metrics.looking import decide, may_stop
from runs.metrics.noise import Noise, pooled, spread_of
from runs.metrics.verdict import Case, Judgement, verdict
from runs.metrics.wording import DIRECTED

SD = 0.015
EFFECT = 0.03
NOMINAL = 0.05
REPEATS = (2, 3, 5)
LEVELS = {1: (16,), 6: (1, 4, 8, 16, 32, 64)}
HISTORY = 10  # degrees of freedom of a known past
LOOKS = (3, 5, 7)  # launches per arm at each look
SEED = 20260529


@dataclass(frozen=True)
class Result:
    """Shares of trials; `error` is the Monte-Carlo error (two sd) of the false alarms."""

    name: str
    repeats: str
    levels: int
    trials: int
    false_alarms: float
    error: float
    of_levels: float
    of_sweep: float
    power: float
    launches: float
    promised: bool


@dataclass(frozen=True)
class Setting:
    """One row: how launches are made and judged."""

    name: str
    levels: int
    sd: float = SD
    known: bool = True
    looks: Sequence[int] = ()
    repeats: int = 0
    promised: bool = True
    by_rule: bool = False  # stop where the conductor would, else at an alarm of any level

    @property
    def told_repeats(self) -> str:
        return "/".join(map(str, self.looks)) if self.looks else str(self.repeats)


def settings() -> list[Setting]:
    rows = [
        Setting("known noise" if known else "assumed noise", levels, known=known, repeats=repeats)
        for levels in LEVELS
        for known in (True, False)
        for repeats in REPEATS
    ]
    rows += [Setting("three looks", levels, looks=LOOKS) for levels in LEVELS]
    rows += [Setting("stops by the rule", levels, looks=LOOKS, by_rule=True) for levels in LEVELS]
    # what "likely" is for: nobody knows that this host is twice as loud as is assumed
    rows += [
        Setting("assumed at half the truth", 1, sd=2 * SD, known=False, repeats=n, promised=False)
        for n in REPEATS
    ]
    return rows


def launches(
    dice: random.Random, count: int, setting: Setting, shift: float
) -> list[dict[int, float]]:
    """Of several levels half the variance is the launch's own."""
    levels = LEVELS[setting.levels]
    alone = len(levels) == 1
    own = setting.sd if alone else setting.sd * math.sqrt(0.5)
    made = []
    for _ in range(count):
        launch = dice.gauss(shift, own)
        cells = {level: 0.0 if alone else dice.gauss(0, own) for level in levels}
        made.append({level: 1000 * math.exp(launch + cell) for level, cell in cells.items()})
    return made


def past(dice: random.Random, setting: Setting) -> dict[int, Noise]:
    """What a host's earlier repeats tell of the noise: pairs, as many as degrees of freedom."""
    if not setting.known:
        return {}
    groups = [[math.exp(dice.gauss(0, setting.sd)) for _ in range(2)] for _ in range(HISTORY)]
    found = pooled(map(spread_of, groups))
    return dict.fromkeys(LEVELS[setting.levels], found) if found else {}


def judged(dice: random.Random, setting: Setting, effect: float) -> tuple[Judgement, int]:
    """The verdict of one trial and the launches per arm that it took."""
    looks = setting.looks or (setting.repeats,)
    noise = past(dice, setting)
    before = launches(dice, looks[-1], setting, 0.0)
    after = launches(dice, looks[-1], setting, math.log1p(effect))
    for look in looks:
        case = Case(before[:look], after[:look], noise=noise, looks=len(looks))
        found = verdict(case)
        if may_stop([decide(found)]) if setting.by_rule else any_alarm(found):
            return found, look
    return found, looks[-1]


def any_alarm(found: Judgement) -> bool:
    return sweep_alarm(found) or level_alarm(found)


def sweep_alarm(found: Judgement) -> bool:
    return found.sweep.word in DIRECTED


def level_alarm(found: Judgement) -> bool:
    return any(each.word in DIRECTED for each in found.levels)


def measure(setting: Setting, trials: int) -> Result:
    def share(which: Callable[[Judgement], bool], of: Sequence[Judgement]) -> float:
        return sum(map(which, of)) / len(of)

    # one stream of dice per row, so that a new row changes no other
    dice = random.Random(f"{SEED} {setting.name} {setting.told_repeats} {setting.levels}")
    alike = [judged(dice, setting, 0.0)[0] for _ in range(trials)]
    apart = [judged(dice, setting, EFFECT) for _ in range(trials)]
    alarms = share(any_alarm, alike)
    return Result(
        name=setting.name,
        repeats=setting.told_repeats,
        levels=setting.levels,
        trials=trials,
        false_alarms=alarms,
        error=2 * math.sqrt(max(alarms * (1 - alarms), 1 / trials) / trials),
        of_levels=share(level_alarm, alike),
        of_sweep=share(sweep_alarm, alike),
        power=share(any_alarm, [found for found, _ in apart]),
        launches=sum(count for _, count in apart) / trials,
        promised=setting.promised,
    )


def table(results: Sequence[Result]) -> str:
    head = f"{'noise':<26}{'repeats':>8}{'levels':>7}{'false alarms':>18}"
    head += f"{'levels':>9}{'sweep':>8}{f'finds {EFFECT:.0%}':>10}{'launches':>10}"
    lines = [head]
    for each in results:
        alarms = f"{each.false_alarms:.2%} ± {each.error:.2%}"
        lines.append(
            f"{each.name:<26}{each.repeats:>8}{each.levels:>7}{alarms:>18}"
            f"{each.of_levels:>9.2%}{each.of_sweep:>8.2%}{each.power:>10.1%}{each.launches:>10.1f}"
            f"{'' if each.promised else '   not promised'}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [measure(setting, options.trials) for setting in settings()]
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    else:
        print(table(results))
    loud = [each for each in results if each.promised and each.false_alarms > NOMINAL]
    for each in loud:
        print(f"too many: {each.name}, {each.repeats} repeats, {each.levels} levels")
    return 1 if loud else 0


if __name__ == "__main__":
    sys.exit(main())
