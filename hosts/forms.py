"""Adding a host, and confirming its key."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any, cast

from django import forms

from hosts.models import Host
from hosts.models.host import absolute
from hosts.transport.keyfile import problem_with_key_file

TAIL = 6  # characters of the fingerprint that a person types; enough to have looked

TAKEN = {"add"}  # a host's page is hosts/<its name>/
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,39}")


class HostForm(forms.ModelForm):
    """A machine that is reached over SSH; the key comes in the next step."""

    labels = forms.CharField(
        required=False,
        max_length=400,
        help_text="Words apart by commas, such as blackwell, tp4.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    class Meta:
        model = Host
        fields = [
            "name",
            "address",
            "port",
            "jump",
            "user",
            "key_path",
            "agent_path",
            "agent_key",
            "labels",
        ]
        error_messages = {
            "name": {
                "invalid": "Small letters, digits, - and _ only: it stands in addresses.",
                "unique": "There is a host of this name already.",
            },
            "port": dict.fromkeys(
                ("invalid", "min_value", "max_value"), "A port is a number from 1 to 65535."
            ),
        }
        labels = {
            "key_path": "Private key file",
            "agent_path": "Agent socket",
            "agent_key": "Key in the agent",
            "jump": "Through another host",
        }
        help_texts = {
            "name": "What you call it, in small letters, such as llm-two.",
            "address": "Name or IP address; with another host before it, as that host knows it.",
            "jump": "A jump host (ProxyJump), added here before and with its own key confirmed.",
            "key_path": "A path on the machine where Throughline runs.",
            "agent_path": "Instead of a key file, if an SSH agent holds the key.",
            "agent_key": "Its fingerprint (ssh-add -l), if the agent holds several. No other "
            "key of the agent is offered.",
        }
        widgets = {
            name: forms.TextInput(
                attrs={"class": "mono", "spellcheck": "false", "autocomplete": "off"}
            )
            for name in ("address", "user", "key_path", "agent_path", "agent_key")
        } | {"port": forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        jump = cast(forms.ModelChoiceField, self.fields["jump"])
        jump.queryset = Host.objects.exclude(address="").exclude(pk=self.instance.pk)
        jump.queryset = jump.queryset.order_by("name")
        jump.empty_label = "no, directly"
        # without an address a host only names where imported figures come from; such a one may stay
        if self.instance.pk:
            self.initial["labels"] = ", ".join(self.instance.labels)
            if not self.instance.address:
                return
        for name, reason in (
            ("address", "Say where the machine is reached."),
            ("user", "Say which user to log in as."),
        ):
            self.fields[name].required = True
            self.fields[name].error_messages["required"] = reason

    def add_error(self, field: str | None, error: Any) -> None:
        """What the model says of a field that was refused already adds nothing."""
        if field is None and hasattr(error, "error_dict"):
            told = error.error_dict.items()
            fresh = {name: reasons for name, reasons in told if name not in self.errors}
            if not fresh:
                return
            error = forms.ValidationError(fresh)
        super().add_error(field, error)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != name.lower():
            raise forms.ValidationError("Use small letters.")
        if name in TAKEN:
            raise forms.ValidationError("A page of Throughline has this name already.")
        return name

    def clean_labels(self) -> list[str]:
        words = [word.strip() for word in self.cleaned_data["labels"].split(",") if word.strip()]
        for word in words:
            if not LABEL.fullmatch(word):
                raise forms.ValidationError(
                    f"“{word[:40]}” is no label: letters, digits, . _ = + -"
                )
        return words

    def clean_key_path(self) -> str:
        path: str = self.cleaned_data["key_path"]
        if path:
            absolute(path)
            _refuse_key_file(Path(path))
        return path

    def clean_agent_path(self) -> str:
        path: str = self.cleaned_data["agent_path"]
        if path:
            absolute(path)
            if not stat.S_ISSOCK(_mode(Path(path))):
                raise forms.ValidationError("There is no socket at this path.")
        return path


class PasteForm(forms.Form):
    """An entry of ~/.ssh/config; ``hosts.pasted`` reads it."""

    config = forms.CharField(
        label="Entry",
        required=False,
        strip=False,
        help_text="Paste the entry, with its Host line. It is read, never obeyed: values come into "
        "the fields below, and what is not taken is said.",
        widget=forms.Textarea(attrs={"rows": 6, "class": "mono", "spellcheck": "false"}),
    )


class EditForm(HostForm):
    """Everything but the name, which stands in addresses and notes."""

    class Meta(HostForm.Meta):
        fields = [name for name in HostForm.Meta.fields if name != "name"]


def _mode(path: Path) -> int:
    """0 if nothing can be said about the path."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _refuse_key_file(path: Path) -> None:
    if not stat.S_ISREG(_mode(path)):
        raise forms.ValidationError("There is no such file on the machine where Throughline runs.")
    if path.suffix == ".pub":
        raise forms.ValidationError("This is the public half. Give the private key file.")
    try:
        why = problem_with_key_file(str(path))
    except OSError:
        return  # who logs in may be allowed to read it; if not, the login says so
    if why:
        raise forms.ValidationError(f"This file cannot be used: {why}.")


def _note(label: str) -> forms.CharField:
    return forms.CharField(
        label=label, required=False, max_length=1000, widget=forms.Textarea(attrs={"rows": 2})
    )


class FreeForm(forms.Form):
    """Somebody has looked at the machine; the note says what they saw."""

    note = _note("What you saw")
    looked = forms.BooleanField(
        label="I have looked at the machine: nothing of it runs there any more",
        error_messages={"required": "Look first: two servers on one GPU spoil both figures."},
    )


class TakeOverForm(forms.Form):
    """The host's name, typed: from then on another installation is refused there."""

    name = forms.CharField(
        label="The host's name, to confirm",
        max_length=64,
        widget=forms.TextInput(
            attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}
        ),
        error_messages={"required": "Type the host's name."},
    )
    note = _note("Why")

    def __init__(self, *args: Any, host: Host, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.host = host

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"].strip()
        if name != self.host.name:
            raise forms.ValidationError(f"This is not {self.host.name}.")
        return name


class ConfirmKeyForm(forms.Form):
    """The end of the fingerprint, typed by somebody who looked at the machine itself."""

    offer = forms.CharField(widget=forms.HiddenInput)
    tail = forms.CharField(
        label=f"Last {TAIL} characters of the fingerprint, as the machine itself shows it",
        max_length=100,
        widget=forms.TextInput(
            attrs={"class": "mono", "autocomplete": "off", "spellcheck": "false"}
        ),
        error_messages={"required": "Compare, then type them."},
    )

    def __init__(self, *args: Any, fingerprint: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fingerprint = fingerprint

    def clean_tail(self) -> str:
        tail: str = self.cleaned_data["tail"].strip()
        if len(tail) < TAIL or not self.fingerprint.endswith(tail):
            raise forms.ValidationError(
                "These are not the last characters of the key shown above. If the machine shows "
                "another fingerprint, do not go on: another machine may answer in its place."
            )
        return tail
