"""Texts and JSON of strangers made fit to be kept: no secrets, no NUL, bounded."""

import re
from collections.abc import Mapping

from runs.engines.base import JSON
from runs.engines.redact import redact_text

TEXT_LIMIT = 500
_LIST_LIMIT = 64
_KEYS_LIMIT = 400
_DEPTH = 4
MASK = "***"

# Settings whose value is a secret whatever it looks like.
_SECRET = re.compile(
    r"(?i)(?:^|[^a-z])(?:api[-_]?key|key[-_]?password|password|passwd|secret|access[-_]?key|auth[-_]?token|"
    r"access[-_]?token|hf[-_]?token|hub[-_]?token|bearer|authorization|token|header)$"
)


def is_secret_name(name: str) -> bool:
    return _SECRET.search(name.strip("-")) is not None


def clean_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Redact, shorten, and replace what no database keeps: NUL and lone surrogates."""
    text = text[: limit * 4].replace("\0", "\ufffd")
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = redact_text(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean_name(name: str) -> str:
    """Give a stranger's name of a quantity without what no database keeps."""
    if name.isprintable():
        return name
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def clean(value: object, depth: int = 0) -> JSON:
    """Make a JSON value fit to be kept. Non-finite numbers become None, long lists their length."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, list):
        if len(value) > _LIST_LIMIT:
            return f"list of {len(value)}"
        return [clean(each, depth + 1) for each in value]
    if isinstance(value, Mapping):
        return _clean_mapping(value, depth)
    return None


def _clean_mapping(value: Mapping[object, object], depth: int) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for key, each in list(value.items())[:_KEYS_LIMIT]:
        name = clean_text(str(key), 120)
        secret = is_secret_name(name) and each not in (None, "", False, True)
        found[name] = MASK if secret else clean(each, depth + 1)
    return found


def mapping(value: object, *path: str) -> dict[str, JSON]:
    """Give the object at that path, an empty one when there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[JSON]:
    return value if isinstance(value, list) else []


def text_or_none(value: object) -> str | None:
    """Give a text that says something; tools also write 'None' and ''."""
    if isinstance(value, str) and value.strip() and value.strip() not in ("None", "null"):
        return clean_text(value.strip())
    return None
