"""How long the runs of a campaign may take: minutes and hours as people say them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

from runs.forms.numbers import DecimalPointField

MINUTE, HOUR = 60.0, 3600.0
# field: key of Campaign.limits and its unit in seconds
KEPT = {
    "ready_min": ("ready_s", MINUTE),
    "wall_h": ("wall_s", HOUR),
    "stall_min": ("stall_s", MINUTE),
    "lost_h": ("lost_after_s", HOUR),
    "deadman_h": ("deadman_s", HOUR),
}


def _usual(seconds: float, unit: float) -> str:
    return f"Empty: {seconds / unit:g}."


class LimitsForm(forms.Form):
    """An empty field keeps what the house says, or, where it says nothing, sets no limit."""

    ready_min = DecimalPointField(
        label="Ready within, min", required=False, min_value=0.1, max_value=1440
    )
    wall_h = DecimalPointField(
        label="Load at most, h", required=False, min_value=0.01, max_value=168
    )
    stall_min = DecimalPointField(
        label="Silent at most, min",
        required=False,
        min_value=0.5,
        max_value=1440,
        help_text="A load that prints nothing for so long is ended. Empty: only remarked on.",
    )
    lost_h = DecimalPointField(label="Lost after, h", required=False, min_value=0.05, max_value=168)
    deadman_h = DecimalPointField(
        label="Nobody asks for, h",
        required=False,
        min_value=0.1,
        max_value=168,
        help_text="The node ends a run that Throughline has not asked after for so long. "
        "Empty: never.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        times = settings.DURATIONS
        told = {
            "ready_min": f"From the start of the server. {_usual(times.ready_limit, MINUTE)}",
            "wall_h": f"The node keeps it by itself. {_usual(times.measure_limit, HOUR)}",
            "lost_h": f"Of a node out of reach. {_usual(times.lost_after, HOUR)}",
        }
        for name, words in told.items():
            self.fields[name].help_text = words

    def limits(self) -> dict[str, float]:
        """Seconds, for :attr:`runs.models.Campaign.limits`; only what was given."""
        given = {name: self.cleaned_data.get(name) for name in KEPT}
        return {
            KEPT[name][0]: value * KEPT[name][1]
            for name, value in given.items()
            if value is not None
        }

    def has_limits(self) -> bool:
        """Whether any is given or wrong: then they are shown unfolded."""
        return any(self[name].value() not in (None, "") for name in KEPT)


def initial_limits(limits: dict[str, Any]) -> dict[str, str]:
    """The fields that say these limits."""
    return {
        name: f"{limits[key] / unit:g}" for name, (key, unit) in KEPT.items() if limits.get(key)
    }
