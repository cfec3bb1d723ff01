"""A comparison of arms: rows of the database in, figures for page, CLI, API and share link out.

The arithmetic and the words are in ``runs.metrics``; of single launches there are only hints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from runs.actions.compare import comparison_key
from runs.answers import NONE, Answers, answers
from runs.caveatgroups import CaveatGroup, caveat_groups
from runs.history import Past, past_of
from runs.judging import Judged, judge
from runs.metrics.compare import SMALL, LevelChange, compare_levels, of_metric
from runs.metrics.sentence import change_words, interval_words, more_words
from runs.metrics.verdict import Verdict
from runs.metrics.wording import CLEAR, DIRECTED, GLYPHS, Word, tone_of
from runs.metrics.words import speedup_words, sweep_words, user_words
from runs.models import Arm, Level
from runs.sides import Side, sides_of, told_apart

# "+10 to +50 % output tok/s" in a sentence of runs.metrics, but not its interval
FIGURE = re.compile(
    "(interval )?[+\u2212][0-9.]+(?: to [+\u2212]?[0-9.]+)? %(?: output tok/s| tok/s per user)?"
)


@dataclass(frozen=True)
class Row:
    """One concurrency of two arms. Each figure is a change from the baseline; see its values."""

    concurrency: int
    output: LevelChange
    user: LevelChange
    accept: LevelChange
    ttft: LevelChange
    tpot: LevelChange
    capped: str  # "ran 26 and 21 of 32"; empty if nothing stood in the way, or it is not known
    dots: list[Dot]
    verdict: Verdict | None = None  # of the sweep's metric; None where that was not measured
    # of either side: its output tok/s, and what its log says, are of a window moved by hand
    edited: tuple[bool, bool] = (False, False)
    edited_log: tuple[bool, bool] = (False, False)

    @property
    def headline(self) -> LevelChange:
        """Aggregate tok/s where both sides have it, else per user where both have that."""
        known = [change for change in (self.output, self.user) if change.change is not None]
        told = [c for c in (self.output, self.user) if (c.before, c.after) != (None, None)]
        return [*known, *told, self.output][0]

    @property
    def judged(self) -> bool:
        """Whether there is a word. Single launches give a hint, even where none could be said."""
        found = self.verdict
        return found is not None and (found.judged or found.word is Word.NOT_COMPARABLE)

    @property
    def tone(self) -> str:
        """up, down or same by the verdict, unsure where it could not tell; else by the change."""
        if self.verdict is None or not self.judged:
            return tone(self.headline)
        told = tone_of(self.verdict.word)
        return "unsure" if self.verdict.word is Word.CANNOT_TELL else told

    @property
    def tone_of_output(self) -> str:
        return self.tone if self.judged and self.output.change is not None else tone(self.output)

    @property
    def tone_of_user(self) -> str:
        return tone(self.user)

    @property
    def change_words(self) -> str:
        """The change that is judged, a ratio of geometric means; else "" (see the headline)."""
        return change_words(self.verdict) if self.verdict and self.verdict.judged else ""

    @property
    def factor(self) -> float | None:
        """The change in half-widths of its interval; from 1 on it is more than chance."""
        return self.verdict.factor if self.verdict else None

    @property
    def clear(self) -> bool:
        return self.verdict is not None and self.verdict.word in CLEAR

    @property
    def interval(self) -> str:
        """ "+1.6 to +5.7 %", where there are launches enough for one."""
        return interval_words(self.verdict) if self.verdict and self.verdict.judged else ""

    @property
    def glyph(self) -> str:
        if self.verdict is not None and self.judged:
            return GLYPHS[self.verdict.word]
        return {"up": "(+)", "down": "(\u2212)", "same": "=", "none": "·"}[self.tone]

    @property
    def word(self) -> str:
        """How sure: a word of the closed list; two single launches give a hint."""
        if self.verdict is not None and self.judged:
            return self.verdict.text
        change = self.headline
        if change.change is None:
            return "one side only" if (change.before is None) != (change.after is None) else "·"
        if min(change.launches_before, change.launches_after) <= 1:
            return "a hint"
        return f"means of {change.launches_before} and {change.launches_after}"

    @property
    def more(self) -> str:
        """ "about 2 more repeats", where that might decide."""
        return more_words(self.verdict) if self.verdict else ""

    @property
    def remark(self) -> str:
        """What is to be known of the word: why there is none, a launch far off."""
        return "; ".join(self.verdict.remarks) if self.verdict and self.judged else ""


def tone(change: LevelChange) -> str:
    """up or down where it is more than small, same below, none where nothing is known."""
    if change.change is None:
        return "none"
    return "same" if abs(change.change) < SMALL else "up" if change.change > 0 else "down"


def _direction(figure: str) -> str:
    """Of a figure as told, "+27 %" or "+5 to +27 %": up, down, or "" for what is small."""
    furthest = max(float(number) for number in re.findall(r"[0-9.]+", figure))
    if furthest < SMALL * 100:
        return ""
    return "up" if figure.startswith("+") else "down"


@dataclass(frozen=True)
class Dot:
    """A launch in the drawing of a row: ``x`` in per cent of its width."""

    letter: str
    x: float
    value: float


@dataclass(frozen=True)
class Pair:
    """An arm against the baseline."""

    base: Side
    other: Side
    rows: list[Row]
    sentence: str
    second: str
    by_lines: str  # what single log lines of an import say, where they stand for no level
    changes: list[LevelChange]
    judged: Judged

    @property
    def provisional(self) -> bool:
        return self.base.provisional or self.other.provisional

    @property
    def has_intervals(self) -> bool:
        return any(row.interval for row in self.rows)

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the words, each once: assumed noise stands beneath them."""
        said = [self.judged.judgement.sweep, *(row.verdict for row in self.rows if row.verdict)]
        told = dict.fromkeys(remark for each in said if each.judged for remark in each.remarks)
        kept = [remark for remark in told if not remark.startswith("assumed noise")]
        moved = [str(row.concurrency) for row in self.rows if any(row.edited_log)]
        return kept + [f"windows moved by hand at {' and '.join(moved)}"] * bool(moved)

    @property
    def told(self) -> list[tuple[str, str]]:
        """The sentence in pieces; a figure is set off by its direction, up or down."""
        sweep = self.judged.judgement.sweep
        if sweep.judged and sweep.word not in DIRECTED:
            return [(self.sentence, "")]  # no colour without a word that has a direction
        pieces, at = [], 0
        for found in FIGURE.finditer(self.sentence):
            if found[1]:
                continue
            pieces.append((self.sentence[at : found.start()], ""))
            pieces.append((found[0], _direction(found[0])))
            at = found.end()
        return [*pieces, (self.sentence[at:], "")]

    @property
    def capped_levels(self) -> str:
        """A sentence on the levels at which the running limit is measured too."""
        levels = [row.concurrency for row in self.rows if row.capped]
        if not levels:
            return ""
        sides = (self.base, self.other)
        both = all(side.is_capped(level) for level in levels for side in sides)
        who = "both arms run" if both else "an arm runs"
        return (
            f"At {' and '.join(map(str, levels))} {who} fewer requests than are offered: "
            "there the running limit is measured too."
        )

    @property
    def matched(self) -> int:
        return sum(row.headline.change is not None for row in self.rows)


@dataclass(frozen=True)
class Compared:
    """Sides in the order asked for, the first of them the baseline of every pair."""

    sides: list[Side]
    pairs: list[Pair]
    given: Answers = NONE

    @cached_property
    def caveats(self) -> list[CaveatGroup]:
        """All remarks of the rules, the worst first, dismissed ones last."""
        return caveat_groups(self.sides, self.given)

    @property
    def base(self) -> Side:
        return self.sides[0]

    @property
    def measured(self) -> dict[int, list[Level]]:
        """By arm, the levels of its launches that succeeded."""
        told = [side for side in self.sides if not side.provisional]
        return {s.arm.pk: [level for ln in s.counted for level in ln.measured] for s in told}

    @property
    def head(self) -> list[tuple[Side, str]]:
        """Each side with its configuration in a few words."""
        return [(side, side.words_beside(self.base)) for side in self.sides]

    @property
    def simulated(self) -> bool:
        return any(side.arm.host.simulated for side in self.sides)


def compare_arms(arms: Sequence[Arm], *, only: str = "") -> Compared:
    """Every arm against the first; ``only`` is the letter of the one that is wanted, if one is."""
    sides = told_apart(sides_of(arms))
    runs = [launch.run.pk for side in sides for launch in side.counted]
    given = answers(runs=runs, comparison=comparison_key(arms))
    past = past_of(arms, own=sum(len(ln.levels) for side in sides for ln in side.launches))
    others = [side for side in sides[1:] if only in ("", side.letter)]
    pairs = [pair(sides[0], other, given, past) for other in others]
    return Compared(sides, pairs, given)


def pair(base: Side, other: Side, given: Answers = NONE, past: Past | None = None) -> Pair:
    """All figures of two sides, level by level."""
    changes = compare_levels(base.figures, other.figures)
    by_key = {(change.concurrency, change.metric): change for change in changes}
    output, user = of_metric(changes, "output_tps"), of_metric(changes, "user_tps")
    known = any(change.change is not None for change in output)
    judged = judge(base, other, "output_tps" if known else "user_tps", given, past=past)
    rows = [
        row(base, other, concurrency, by_key, judged.judgement.at(concurrency))
        for concurrency in sorted({change.concurrency for change in changes})
    ]
    provisional = base.provisional or other.provisional
    verdict = "" if provisional else judged.words(base.name, other.name)
    return Pair(
        base=base,
        other=other,
        rows=rows,
        sentence=verdict or sweep_words(output if known else user, base.name, other.name),
        second=user_words(user) if known else "",
        by_lines=line_words(base, other),
        changes=changes,
        judged=judged,
    )


def line_words(base: Side, other: Side) -> str:
    """ "In the log ×2.4 to ×2.7 …": an excerpt's lines against the baseline's client.

    Only lines with as many requests running as the baseline was offered are held against it.
    """
    at = {running for running, _ in other.lines}
    before = base.mean("output_tps", at.pop()) if len(at) == 1 else None
    if not before:
        return ""
    speedup = speedup_words([tps for _, tps in other.lines], before)
    return f"By the lines of its log {other.name} is at {speedup}."


def row(
    base: Side,
    other: Side,
    concurrency: int,
    changes: dict[tuple[int, str], LevelChange],
    verdict: Verdict | None,
) -> Row:
    def figure(metric: str) -> LevelChange:
        return changes[concurrency, metric]

    return Row(
        concurrency=concurrency,
        output=figure("output_tps"),
        user=figure("user_tps"),
        accept=figure("accept_len"),
        ttft=figure("ttft_p50"),
        tpot=figure("tpot_p50"),
        capped=capped_words(base, other, concurrency),
        dots=dots([base, other], concurrency),
        verdict=None if base.provisional or other.provisional else verdict,
        edited=(base.edited(concurrency, client=True), other.edited(concurrency, client=True)),
        edited_log=(
            base.edited(concurrency, client=False),
            other.edited(concurrency, client=False),
        ),
    )


def capped_words(base: Side, other: Side, concurrency: int) -> str:
    """How many of the offered requests ran, where a limit lies below them."""
    sides = [side for side in (base, other) if concurrency in side.concurrencies]
    if not any(side.is_capped(concurrency) for side in sides):
        return ""
    ran = [str(min(side.limit, concurrency)) if side.limit is not None else "?" for side in sides]
    return f"ran {' and '.join(dict.fromkeys(ran))} of {concurrency}"


def dots(sides: Sequence[Side], concurrency: int) -> list[Dot]:
    """Every launch on one common scale, so that the spread of repeats can be seen."""
    metric = "output_tps" if any(s.values("output_tps", concurrency) for s in sides) else "user_tps"
    return spread([(s.letter, value) for s in sides for value in s.values(metric, concurrency)])


def spread(found: Sequence[tuple[str, float]]) -> list[Dot]:
    """Letters and figures as dots between the least and the largest of them."""
    if not found:
        return []
    low, high = min(v for _, v in found), max(v for _, v in found)
    span = high - low
    return [Dot(letter, 8 + 84 * (v - low) / span if span else 50.0, v) for letter, v in found]
