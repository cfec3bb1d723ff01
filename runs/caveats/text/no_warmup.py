"""The tool's warm-up lasted no time."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real

_NAMES = ("warmup_s", "warmup_time", "warmup_duration", "warmup_duration_s")


def find(paste: Paste) -> Finding | None:
    """Fire when the tool tells of a warm-up of zero seconds."""
    for row in paste.rows:
        for name in _NAMES:
            if real(paste.setting(row, name)) == 0:
                text = "The warm-up lasted no time: the first requests are measured cold."
                return Finding("no-warmup", text, {name: 0})
    return None
