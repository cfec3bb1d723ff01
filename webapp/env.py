"""Typed readers of the environment; a wrong value is told with its name."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def flag(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in {"1", "true", "yes", "on"}:
        return True
    if value.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a yes or no. Use 1 or 0.")


def number(name: str, default: float) -> float:
    value = os.environ.get(name)
    if value is None:
        return default
    try:
        return float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r} is not a number.") from None


def words(name: str, default: list[str]) -> list[str]:
    value = os.environ.get(name)
    return default if value is None else [w.strip() for w in value.split(",") if w.strip()]


def secret(name: str, file: Path) -> str:
    """A secret from the environment, else from a private file that is made on first use."""
    value = os.environ.get(name)
    if value:
        return value
    if not file.exists():
        import secrets

        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another process of ours was a moment faster
            return _written(file)
        with os.fdopen(handle, "w") as out:
            out.write(secrets.token_urlsafe(64))
    return _written(file)


def _written(file: Path) -> str:
    value = file.read_text()
    if len(value) < 50:
        raise ImproperlyConfigured(f"{file} holds no usable secret. Delete it to have a new one.")
    return value
