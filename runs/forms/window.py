"""A level's window, moved by hand."""

from __future__ import annotations

from django import forms

from runs.actions.move_window import MOST
from runs.forms.numbers import DecimalPointField


class WindowForm(forms.Form):
    """``start`` and ``end`` are seconds since the level began."""

    start = DecimalPointField(label="From")
    end = DecimalPointField(label="To")
    reason = forms.CharField(
        label="Why",
        max_length=MOST,
        error_messages={"required": "Say why it is moved: the reason stays beside the window."},
    )
