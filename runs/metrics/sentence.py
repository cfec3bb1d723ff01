"""A verdict in words: the one sentence of a page, the lines of a command."""

from collections.abc import Iterable, Sequence

from runs.metrics.catalogue import METRICS
from runs.metrics.format import ABSENT, percent_change, rounded, signed
from runs.metrics.planning import MOST_REPEATS
from runs.metrics.verdict import Judgement, Verdict
from runs.metrics.wording import GLYPHS, Word

# From this half-width (in per cent) on, a tenth of a per cent would be more than is known.
_COARSE = 3.0


def change_digits(found: Verdict) -> int:
    """How many digits of a per cent the interval allows: 1, or 0 for a wide one."""
    if found.low is None or found.high is None:
        return 0
    return 0 if (found.high - found.low) * 50 >= _COARSE else 1


def change_words(found: Verdict) -> str:
    """'+3.7 %', with as many digits as are known; a dash where there is no ratio."""
    if found.ratio is None:
        return ABSENT
    return (
        _percent(found.ratio, change_digits(found))
        if found.judged
        else percent_change(found.ratio - 1)
    )


def interval_words(found: Verdict) -> str:
    """'+1.6 to +5.7 %'; a dash where there is no interval."""
    if found.low is None or found.high is None:
        return ABSENT
    digits = change_digits(found)
    low, high = _percent(found.low, digits), _percent(found.high, digits)
    return f"{low.removesuffix(' %')} to {high}"


def _percent(ratio: float, digits: int) -> str:
    percent = (ratio - 1) * 100
    text = rounded(abs(percent), digits)
    if not text.strip("0."):
        return "0 %"
    return f"+{text} %" if percent > 0 else f"{signed(text, percent)} %"


def more_words(found: Verdict) -> str:
    """'about 2 more repeats', or that repeats will not help; nothing where none are asked for."""
    if found.more is None:
        return ""
    if found.more > MOST_REPEATS:
        return f"more than {MOST_REPEATS} more repeats: improve the method instead"
    return f"about {found.more} more repeat{'' if found.more == 1 else 's'}"


def word_words(found: Verdict) -> str:
    """'cannot tell: about 2 more repeats', 'likely better'."""
    more = more_words(found)
    return f"{found.text}: {more}" if more else found.text


def verdict_sentence(
    judged: Judgement, metric: str, before: str, after: str, *, numbered: bool = True
) -> str:
    """One sentence on a judged comparison, of a closed grammar.

    'steps=2 gives +27 % output tok/s against steps=1 over 5 levels (95 % interval +24 to +30 %,
    3 launches each): clearly better; clearly better at 1, 4, 16 and 64, better at 32.' Nothing
    for launches of which none is judged. `numbered`: levels are called by their clients.
    """
    found = judged.sweep
    if not found.judged:
        return _unjudged(judged, before, after)
    label = METRICS[metric].label if metric in METRICS else metric
    over = f" {_over(judged)}" if numbered or len(judged.matched) > 1 else ""
    head = (
        f"{after} gives {change_words(found)} {label} against {before}{over} "
        f"({judged.confidence} % interval {interval_words(found)}, {_launches(found)})"
    )
    tail = "mixed, no single winner" if found.word is Word.MIXED else found.text
    each = _each(judged)
    more = f"; {more_words(found)} might tell" if 0 < (found.more or 0) <= MOST_REPEATS else ""
    if not more and found.more:
        more = f"; {more_words(found)}"
    against = "".join(f"; {said}" for said in judged.against)
    return f"{head}: {tail}{each}{more}{against}."


def _each(judged: Judgement) -> str:
    """What follows the word of a sweep: its levels, or that they say the same."""
    matched = [level for level in judged.levels if level.concurrency in judged.matched]
    if len(matched) < 2:
        return ""
    if all(level.text == judged.sweep.text for level in matched):
        return " at any level" if judged.sweep.word is Word.CANNOT_TELL else " at every level"
    return f"; {_by_level(judged.levels)}"


def _unjudged(judged: Judgement, before: str, after: str) -> str:
    known = [level for level in judged.levels if level.judged]
    if not known:
        return ""
    remark = f" ({judged.sweep.remarks[0]})" if judged.sweep.remarks else ""
    return f"{after} against {before}: no verdict on the sweep{remark}; {_by_level(known)}."


def _over(judged: Judgement) -> str:
    if len(judged.matched) == 1:
        return f"at concurrency {judged.matched[0]}"
    return f"over {len(judged.matched)} levels"


def _launches(found: Verdict) -> str:
    a, b = len(found.before), len(found.after)
    return f"{a} launches each" if a == b else f"{a} and {b} launches"


def _by_level(levels: Sequence[Verdict]) -> str:
    """'better at 1, 4 and 16, cannot tell at 64', in the order in which words first come."""
    said: dict[str, list[str]] = {}
    for level in levels:
        if level.word is not Word.NOT_MEASURED:
            said.setdefault(level.text, []).append(str(level.concurrency))
    return ", ".join(f"{text} at {listed(where)}" for text, where in said.items())


def listed(things: Iterable[object]) -> str:
    """ "1, 16 and 32"."""
    words = [str(thing) for thing in things]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def verdict_lines(judged: Judgement, metric: str, *, numbered: bool) -> list[str]:
    """The sentence and a line for each level, for a terminal."""
    said = verdict_sentence(judged, metric, "the baseline", "the candidate", numbered=numbered)
    lines = [said[:1].upper() + said[1:]]
    if len(judged.levels) > 1:
        lines += ["", *(_line(level) for level in judged.levels)]
    lines += [f"Note: {remark}." for remark in _remarks([judged.sweep, *judged.levels])]
    return lines


def _line(found: Verdict) -> str:
    p = ABSENT if found.p_adjusted is None else f"{found.p_adjusted:.2g}"
    return (
        f"{found.concurrency:>7} clients {change_words(found):>9}   {interval_words(found):>18}"
        f"   p {p:<8} {GLYPHS[found.word]:>3} {word_words(found)}"
    )


def _remarks(found: Iterable[Verdict]) -> list[str]:
    return list(dict.fromkeys(remark for each in found for remark in each.remarks))
