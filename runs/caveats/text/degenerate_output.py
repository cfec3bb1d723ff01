"""The generated text repeats itself."""

from statistics import median

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

PERFECT = 0.99
MIN_LENGTH = 2.5  # with one step a rate of 0.99 is reached by honest text
MIN_LINES = 3


def find(paste: Paste) -> Finding | None:
    """Fire on words in the text that loop, or on drafts that are nearly always right."""
    if paste.looping is not None:
        text = (
            f"The output repeats itself (“{paste.looping[:60]}”): a loop is easy to guess, so the "
            "run "
            "looks fastest because its text is broken."
        )
        return Finding("degenerate-output", text, {"repeats": paste.looping[:60]})
    rates = [
        each.accept_rate
        for each in paste.decodes
        if each.accept_rate is not None and (each.accept_len or 0) >= MIN_LENGTH
    ]
    if len(rates) < MIN_LINES or median(rates) < PERFECT or paste.context.get("simulate_acc_len"):
        return None
    text = (
        f"Nearly every draft is accepted (median rate {median(rates):.2f} over {len(rates)} "
        "lines): on "
        "prose that is a sign of text that loops. Read the output."
    )
    return Finding("degenerate-output", text, {"accept_rate": median(rates), "lines": len(rates)})
