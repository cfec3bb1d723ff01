"""Prompts of random tokens are no language, so acceptance on them is not the real one."""

from runs.caveats.base import REAL_PROMPTS, Experiment, Facts, Finding, Rule

# ids drawn from the vocabulary; the others are texts cut or repeated to a length
IDS = ("random-ids", "random_ids")
CUT = ("random", "synthetic", "synthetic_text")


def find(facts: Facts) -> Finding | None:
    """Fire on random prompts, unless the server is known not to speculate."""
    kind = facts.prompt_set
    if facts.speculative is False or kind not in (*IDS, *CUT):
        return None
    template = "" if facts.chat_template is not False else " without a chat template"
    if kind in IDS:
        text = (
            f"Prompts are random token ids ('{kind}'){template}: no language, so neither "
            "acceptance nor speed says anything about real traffic."
        )
        return Finding("random-tokens", text, {"dataset": kind}, "block")
    text = (
        f"Prompts are texts cut or repeated to a length ('{kind}'){template}: easier to guess "
        "than real ones, so acceptance is flattered."
    )
    return Finding("random-tokens", text, {"dataset": kind}, "warn")


RULE: Rule[Facts] = Rule(
    "random-tokens",
    "block",
    find,
    Experiment("real prompts", {"prompt_set": REAL_PROMPTS}),
)
