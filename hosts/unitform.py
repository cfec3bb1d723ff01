"""Asking how a systemd unit is set up for servers that are measured."""

from __future__ import annotations

from django import forms

from hosts.nodekit.units import UNIT


class UnitForm(forms.Form):
    unit = forms.CharField(
        max_length=255,
        widget=forms.TextInput(
            attrs={
                "class": "mono",
                "spellcheck": "false",
                "autocomplete": "off",
                "placeholder": "llm.service",
            }
        ),
        error_messages={"required": "Name the unit."},
    )
    restart_only = forms.BooleanField(
        label="restart only",
        required=False,
        help_text="The unit keeps its own arguments.",
    )

    def clean_unit(self) -> str:
        unit: str = self.cleaned_data["unit"]
        if not UNIT.fullmatch(unit):
            raise forms.ValidationError("Give the whole name of a service, such as llm.service.")
        return unit
