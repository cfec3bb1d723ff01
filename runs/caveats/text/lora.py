"""Requests used adapters that the draft does not know."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire when a row, the client or the server names adapters."""
    for row in paste.rows:
        names = row.context.get("lora_names")
        if isinstance(names, list) and names:
            return _finding(names)
    names = paste.context.get("lora_names") or paste.context.get("lora_paths")
    return _finding(names) if isinstance(names, list) and names else None


def _finding(names: list[JSON]) -> Finding:
    text = (
        f"Requests used {len(names)} adapter{'' if len(names) == 1 else 's'}: a draft that was "
        "trained "
        "on the base model guesses them less well."
    )
    return Finding("lora", text, {"adapters": [*names[:20]]})
