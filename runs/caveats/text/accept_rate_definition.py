"""Printed accept rates follow several definitions, or none that is known."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON
from runs.metrics.acceptance import definition_of

_DRAFT_SETTINGS = ("spec_num_steps", "spec_num_draft_tokens")
_NAMES = {
    "inclusive": "counts the bonus token (accept len / draft tokens)",
    "per-step": "is accept len / steps",
    "unknown": "fits no known definition",
}


def find(paste: Paste) -> Finding | None:
    """Fire when two parts use different definitions, or one is not (len − 1)/(draft tokens − 1)."""
    found: dict[str, tuple[float, float]] = {}
    untold: set[str] = set()
    for pairs, settings in paste.rate_pairs():
        kind = definition_of(pairs, settings)
        if kind == "unknown" and not any(settings.get(name) for name in _DRAFT_SETTINGS):
            untold.add(kind)
        if kind in ("inclusive", "per-step", "unknown", "strict"):
            found.setdefault(kind, pairs[0])
    odd = [kind for kind in found if kind != "strict"]
    if not odd:
        return None
    length, rate = found[odd[0]]
    mixed = " Other lines of this text use another definition." if len(found) > 1 else ""
    text = (
        f"The printed accept rate {rate:.2f} {_NAMES[odd[0]]}.{mixed} Compare accept len, or the "
        "recomputed share of drafts that were accepted."
    )
    if odd[0] in untold:
        text = (
            f"The printed accept rates ({rate:.2f} is the first) fit no known definition with one "
            "number of draft tokens, and the text tells none: it may hold several servers' lines, "
            "or the release has another formula. Compare accept len."
        )
    evidence: dict[str, JSON] = {"definition": odd[0], "printed": rate, "accept_len": length}
    return Finding("accept-rate-definition", text, evidence)
