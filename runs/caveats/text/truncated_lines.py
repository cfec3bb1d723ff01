"""Lines are cut or left out."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire on damaged or cut records, or when the text says that lines were left out."""
    cut = sum(1 for each in paste.samples if "unread" in each.extras)
    if not paste.damaged and not cut and not paste.elided:
        return None
    said = [_counted(paste.damaged, "damaged")] if paste.damaged else []
    said += [_counted(cut, "cut")] if cut else []
    said += ["lines were left out"] if paste.elided else []
    text = f"{', '.join(said).capitalize()}: means are over what was shown."
    evidence: dict[str, JSON] = {"damaged": paste.damaged, "cut": cut, "elided": paste.elided}
    return Finding("truncated-lines", text, evidence)


def _counted(number: int, what: str) -> str:
    return f"1 record is {what}" if number == 1 else f"{number} records are {what}"
