"""A GPU slowed down because it was hot."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire when the driver says so."""
    hot = [each for each in paste.events if each.kind == "thermal_slowdown"]
    if not hot:
        return None
    gpus = sorted({str(each.data.get("gpu")) for each in hot})
    text = (
        f"GPU {', '.join(gpus)} slowed down because of heat from {hot[0].time} on: what was "
        "measured "
        "then cannot be compared with anything."
    )
    evidence: dict[str, JSON] = {"from": hot[0].time, "gpus": [*gpus], "readings": len(hot)}
    return Finding("thermal-throttle", text, evidence)
