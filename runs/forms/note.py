"""A note and what it hangs on."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from runs.actions.annotate import read_spot
from runs.actions.launch import Refused
from runs.models import Note

ANCHOR = re.compile(
    r"(campaign|arm|run|host):([0-9]{1,18})|(comparison):([0-9]{1,18}(?:~[0-9]{1,18}){1,5})"
    r"|(key):([a-z0-9_.-]{1,120})"
)


def parse_anchor(value: str) -> tuple[str, str]:
    """ "run:7" as ("run", "7"), "comparison:3~4" as ("comparison", "3~4"). Raises ValueError."""
    found = ANCHOR.fullmatch(value)
    if not found:
        raise ValueError(value)
    kind, key = (part for part in found.groups() if part)
    return kind, key


class NoteEditForm(forms.Form):
    """What a note says. ``status`` counts for findings only."""

    text = forms.CharField(
        label="Note",
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "Markdown"}),
        error_messages={"required": "Write the note first."},
    )
    kind = forms.ChoiceField(label="Kind", choices=Note.Kind.choices, initial=Note.Kind.NOTE)
    status = forms.ChoiceField(
        label="State of a finding", choices=Note.Status.choices, required=False
    )
    tags = forms.CharField(
        label="Tags",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "noise gpu", "autocomplete": "off"}),
    )


class NoteForm(NoteEditForm):
    """``anchor`` is where the note hangs, ``page`` the thing on whose page it was written."""

    status = None  # type: ignore[assignment]  # a new finding is new
    anchor = forms.CharField(label="On", widget=forms.HiddenInput)
    page = forms.CharField(widget=forms.HiddenInput, required=False)
    spot = forms.CharField(
        label="Where exactly",
        max_length=60,
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "level 16, or 75-120 s", "autocomplete": "off"}
        ),
    )

    def __init__(
        self, *args: Any, anchors: list[tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        """``anchors`` offers a choice ("arm:3", "steps=2"); without it the anchor is hidden."""
        super().__init__(*args, **kwargs)
        if anchors:
            self.fields["anchor"].widget = forms.Select(choices=anchors)

    def clean_anchor(self) -> tuple[str, str]:
        return self._parsed("anchor")

    def clean_page(self) -> tuple[str, str] | None:
        return self._parsed("page") if self.cleaned_data["page"] else None

    def clean_spot(self) -> str:
        told = str(self.cleaned_data["spot"])
        try:
            read_spot(told)
        except Refused as refused:
            raise forms.ValidationError(str(refused)) from None
        return told

    def _parsed(self, name: str) -> tuple[str, str]:
        try:
            return parse_anchor(self.cleaned_data[name])
        except ValueError:
            raise forms.ValidationError(
                "This does not name a thing that can hold a note."
            ) from None
