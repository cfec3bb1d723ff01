"""Any text that may hold samples or results: pasted, or as files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import ProhibitNullCharactersValidator

from runs.actions.texts import PASTED
from runs.engines.redact import redact_text

NAME = 120  # characters of a file's name that are kept
MOST = 40  # files at once: a sweep has one log and a result for each of its levels


class SeveralFiles(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Any number of files, each checked as one."""

    widget = SeveralFiles

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = data if isinstance(data, list | tuple) else [data]
        return [file for each in files if (file := super(FilesField, self).clean(each, initial))]


class PastedField(forms.CharField):
    """Any text, NUL included; shown again its secrets are covered."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validators = [
            each
            for each in self.validators
            if not isinstance(each, ProhibitNullCharactersValidator)
        ]

    def bound_data(self, data: Any, initial: Any) -> Any:
        told = super().bound_data(data, initial)
        return redact_text(told) if isinstance(told, str) else told


class ImportForm(forms.Form):
    text = PastedField(
        required=False,
        strip=False,
        label="Paste a log, results, a table or all of them",
        widget=forms.Textarea(
            attrs={"rows": 12, "class": "mono", "spellcheck": "false", "wrap": "off"}
        ),
    )
    file = FilesField(
        required=False,
        label="or choose files",
        allow_empty_file=True,
    )

    def clean_file(self) -> list[UploadedFile]:
        files: list[UploadedFile] = self.cleaned_data["file"]
        limit = settings.UPLOAD_LIMIT_BYTES
        if files and not any(file.size for file in files):
            names = ", ".join(str(file.name)[:NAME] for file in files)
            raise forms.ValidationError(f"Nothing stands in {names}: 0 bytes.")
        for file in files:
            if (file.size or 0) > limit:
                name, mib = str(file.name)[:NAME], limit // 2**20
                raise forms.ValidationError(f"{name} has more than {mib} MiB. Cut it into parts.")
        if len(files) > MOST:
            raise forms.ValidationError(f"These are {len(files)} files; {MOST} are read at once.")
        return files

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or self.cleaned_data
        text, files = told.get("text", ""), told.get("file")
        if not self.errors and bool(text.strip()) == bool(files):
            self.add_error(
                "text", "Paste a text or choose files" + (", not both." if files else ".")
            )
        return told

    def size(self) -> int:
        """Bytes of all texts."""
        files: list[UploadedFile] = self.cleaned_data["file"]
        text: str = self.cleaned_data["text"]
        return sum(file.size or 0 for file in files) if files else len(text.encode())

    def told(self) -> Sequence[tuple[str, Iterable[bytes]]]:
        """Each text's name and its bytes, in pieces: an upload is never held in memory."""
        files: list[UploadedFile] = self.cleaned_data["file"]
        if files:
            return [(str(file.name)[:NAME], file.chunks()) for file in files]
        return [(PASTED, [self.cleaned_data["text"].encode()])]
