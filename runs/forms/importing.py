"""Any text that may hold samples or results: pasted, or as a file."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings

NAME = 120  # characters of a file's name that are kept


class ImportForm(forms.Form):
    text = forms.CharField(
        required=False,
        strip=False,
        label="Paste a log or a table",
        widget=forms.Textarea(
            attrs={"rows": 12, "class": "mono", "spellcheck": "false", "wrap": "off"}
        ),
    )
    file = forms.FileField(
        required=False,
        label="or choose a file",
        error_messages={"empty": "This file is empty."},
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > settings.UPLOAD_LIMIT_BYTES:
            limit = settings.UPLOAD_LIMIT_BYTES // 2**20
            raise forms.ValidationError(f"This file has more than {limit} MiB. Cut it into parts.")
        return file

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or self.cleaned_data
        text, file = told.get("text", ""), told.get("file")
        if not self.errors and bool(text.strip()) == bool(file):
            self.add_error(
                "text", "Paste a text or choose a file" + (", not both." if file else ".")
            )
        return told

    def told(self) -> tuple[bytes, str]:
        """The bytes and the name they go by."""
        file = self.cleaned_data["file"]
        if file:
            return file.read(), file.name[:NAME]
        return self.cleaned_data["text"].encode(), "pasted text"
