"""Hardly a draft is accepted."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

LOW = 1.15


def find(paste: Paste) -> Finding | None:
    """Fire when the accept len of a part is below 1.15; 1.00 means that nothing was accepted."""
    for samples in paste.part_samples():
        lengths = [each.accept_len for each in samples if each.accept_len is not None]
        if lengths and sum(lengths) / len(lengths) < LOW:
            return _finding(sum(lengths) / len(lengths), len(lengths))
    for row in paste.rows:
        length = row.value("accept_len")
        if length is not None and length < LOW:
            return _finding(length, 1)
    return None


def _finding(mean: float, lines: int) -> Finding:
    fault = " Exactly 1.00 is a fault of configuration, not a weak draft." if mean < 1.005 else ""
    text = (
        f"Accept len {mean:.2f}: hardly a draft is accepted, so every step pays for drafting and "
        f"verifying and gains nothing.{fault}"
    )
    return Finding("low-acceptance", text, {"accept_len": round(mean, 4), "lines": lines})
