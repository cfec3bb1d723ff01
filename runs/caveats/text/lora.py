"""Requests used adapters that the draft does not know."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire when a row, the client or the server names adapters."""
    for row in paste.rows:
        names = row.context.get("lora_names")
        if isinstance(names, list) and names:
            return _finding(len(names), names)
    most = max((real(row.context.get("lora_adapters")) or 0 for row in paste.rows), default=0)
    if most > 0:
        return _finding(int(most), [])
    names = paste.context.get("lora_names") or paste.context.get("lora_paths")
    return _finding(len(names), names) if isinstance(names, list) and names else None


def _finding(used: int, names: list[JSON]) -> Finding:
    text = (
        f"Requests used {used} adapter{'' if used == 1 else 's'}: a draft that was "
        "trained "
        "on the base model guesses them less well."
    )
    return Finding("lora", text, {"adapters": [*names[:20]] or used})
