"""The printed accept rate is not (len − 1)/(draft tokens − 1), or nobody can tell."""

from runs.caveats.base import Facts, Finding, Rule
from runs.metrics.acceptance import definition, strict_rate

_NAMES = {
    "inclusive": "counts the bonus token (accept len / draft tokens)",
    "per-step": "is accept len / steps",
    "unknown": "fits no known definition",
}


def find(facts: Facts) -> Finding | None:
    """Fire on the first line whose printed rate is not the strict one, draft tokens being known."""
    if facts.draft_tokens is None:
        return None
    for length, rate in facts.accept_pairs:
        kind = definition(rate, length, facts.draft_tokens, facts.steps)
        strict = strict_rate(length, facts.draft_tokens)
        if kind in _NAMES and strict is not None:
            text = (
                f"The printed accept rate {rate:.2f} {_NAMES[kind]}; drafts accepted per draft "
                f"proposed are {strict:.2f}. Compare accept len, or this recomputed rate."
            )
            evidence = {"printed": rate, "accept_len": length, "strict": round(strict, 4)}
            return Finding("accept-rate-definition", text, {**evidence, "definition": kind})
    return None


RULE: Rule[Facts] = Rule("accept-rate-definition", "warn", find)
