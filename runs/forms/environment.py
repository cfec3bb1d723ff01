"""The environment of a server, as it is typed: one NAME=value a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms

from runs.engines.redact import redact_text

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
MOST = 64


class EnvironmentField(forms.CharField):
    """A mapping of names to values. Quotation marks around a whole value are a shell's, and go."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {
            "rows": 2,
            "class": "mono",
            "spellcheck": "false",
            "placeholder": "PATH=/opt/sglang/bin:$PATH",
        }
        super().__init__(max_length=8000, widget=forms.Textarea(attrs=attrs), **kwargs)

    def to_python(self, value: Any) -> dict[str, str]:  # type: ignore[override]
        lines = [line.strip() for line in (super().to_python(value) or "").splitlines()]
        found: dict[str, str] = {}
        for line in lines:
            if not line or line.startswith("#"):
                continue
            name, value = _read(line.removeprefix("export ").strip())
            if name in found:
                raise forms.ValidationError(f"{name} stands there twice.")
            found[name] = value
        if len(found) > MOST:
            raise forms.ValidationError(f"At most {MOST}.")
        return found


def _read(line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise forms.ValidationError(f"“{line[:40]}” is not NAME=value.")
    if redact_text(line) != line:
        raise forms.ValidationError(
            f"{name} holds a secret, which would be stored and shown here. Set it for the login "
            "on the host instead, such as in /etc/environment or in a file that the engine reads."
        )
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return name, value


def written(env: Mapping[str, Any]) -> str:
    """As it is typed."""
    return "\n".join(f"{name}={value}" for name, value in env.items())


def as_words(env: Mapping[str, Any]) -> str:
    """As it stands before a command in a shell, a variable a line; empty for none."""
    return "".join(f"{name}={_quoted(name, str(value))} \\\n" for name, value in env.items())


def _quoted(name: str, value: str) -> str:
    """In a value only its own name is expanded, as on the node."""
    if re.fullmatch(r"[A-Za-z0-9_./:,+@%=-]*", value):
        return value
    safe = re.sub(r'(["\\`$])', r"\\\1", value)
    own = re.compile(rf"\\\$(?P<n>{name}\b|\{{{name}\}})")
    return '"' + own.sub(lambda found: "$" + found["n"], safe) + '"'
