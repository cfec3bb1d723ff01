"""Accept len and the three accept rates that SGLang has printed under one name.

`accept_len` counts the bonus token: 1.00 means that nothing was accepted. Compare lengths; a rate
only after recomputing it strictly.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from runs.engines.base import Sample

Definition: TypeAlias = Literal["strict", "inclusive", "per-step", "ambiguous", "unknown"]

# Half of the last printed digit, and a little for binary fractions.
_PRINT = 0.005
_EPSILON = 1e-9
# More draft tokens than anybody verifies in one pass of a chain.
_MOST_DRAFTS = 33
# So many different pairs tell a formula; all of a long log would tell no more.
_ENOUGH_PAIRS = 300


def strict_rate(accept_len: float, draft_tokens: int) -> float | None:
    """Drafts accepted per draft proposed: (len − 1) / (draft tokens − 1); SGLang 0.5.11 and on."""
    return (accept_len - 1) / (draft_tokens - 1) if draft_tokens > 1 else None


def inclusive_rate(accept_len: float, draft_tokens: int) -> float | None:
    """The bonus token counted above and below: len / draft tokens; SGLang 0.5.3 to 0.5.10."""
    return accept_len / draft_tokens if draft_tokens > 0 else None


def definition(
    rate: float, accept_len: float, draft_tokens: int | None, steps: int | None = None
) -> Definition:
    """Tell by which formula a printed rate was computed, both values having two decimals."""
    fits: list[Definition] = []
    if draft_tokens is not None and draft_tokens > 1:
        strict = (accept_len - 1) / (draft_tokens - 1)
        if _near(rate, strict, draft_tokens - 1):
            fits.append("strict")
        if _near(rate, accept_len / draft_tokens, draft_tokens):
            fits.append("inclusive")
    if not fits and steps and _near(rate, accept_len / steps, steps):
        fits.append("per-step")
    if len(fits) > 1:
        return "ambiguous"
    return fits[0] if fits else "unknown"


def definition_of(
    pairs: Sequence[tuple[float, float]], settings: Mapping[str, object]
) -> Definition | None:
    """Tell by which formula the (length, rate) pairs of one server were printed.

    One formula must fit them all. `settings` may hold spec_num_draft_tokens and spec_num_steps;
    without the draft tokens they are looked for: the number that makes every pair fit. None: there
    are no pairs, or several numbers fit by different formulas.
    """
    if not pairs:
        return None
    pairs = [*dict.fromkeys(pairs)][:_ENOUGH_PAIRS]
    steps = _count(settings.get("spec_num_steps"))
    drafts = _count(settings.get("spec_num_draft_tokens")) or (steps + 1 if steps else None)
    if drafts is not None:
        return _shared(pairs, drafts, steps)
    longest = max(length for length, _ in pairs)
    fitting = {_shared(pairs, tried, tried - 1) for tried in range(2, _MOST_DRAFTS)}
    told = fitting - {"unknown"}
    if longest > 1 and not told:
        return "unknown"
    # Hardly a release divided by the steps: only where nothing else fits.
    told = told - {"per-step"} or told
    return told.pop() if len(told) == 1 else None


def _shared(pairs: Sequence[tuple[float, float]], drafts: int, steps: int | None) -> Definition:
    kinds = {definition(rate, length, drafts, steps) for length, rate in pairs}
    certain = kinds - {"ambiguous"}
    if not certain:
        return "ambiguous"
    return certain.pop() if len(certain) == 1 else "unknown"


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _near(printed: float, computed: float, divisor: int) -> bool:
    return abs(printed - computed) <= _PRINT + _PRINT / divisor + _EPSILON


def level_accept_len(samples: Iterable[Sample]) -> float | None:
    """Give the accept len over several lines: all tokens over all verifications.

    Each decode line covers the same number of forward passes, so its verifications are in
    proportion to its running requests; those of a vLLM interval to the tokens it drafted. Where a
    line does not say how many, the plain mean is given instead.
    """
    pairs = [
        (each.accept_len, _verifications(each))
        for each in samples
        if each.phase in ("decode", "spec_interval") and each.accept_len is not None
    ]
    if not pairs:
        return None
    weights = [weight for _, weight in pairs if weight and weight > 0]
    if len(weights) < len(pairs):
        return sum(length for length, _ in pairs) / len(pairs)
    return sum(length * weight for length, weight in pairs if weight) / sum(weights)


def _verifications(line: Sample) -> int | None:
    """A number in proportion to the verifications that a line of its kind covers."""
    if line.phase == "decode":
        return line.running
    drafted = line.extras.get("drafted_tokens")
    return drafted if isinstance(drafted, int) else None


def pooled_accept_len(samples: Iterable[Sample], draft_tokens: int) -> float | None:
    """Give 1 + accepted / drafts over several of vLLM's intervals, weighted by their drafts."""
    accepted = drafted = 0
    for sample in samples:
        taken, offered = sample.extras.get("accepted_tokens"), sample.extras.get("drafted_tokens")
        if isinstance(taken, int) and isinstance(offered, int):
            accepted, drafted = accepted + taken, drafted + offered
    return 1 + accepted / (drafted / draft_tokens) if drafted and draft_tokens else None
