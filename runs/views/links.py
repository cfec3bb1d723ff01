"""Addresses of a comparison's exports, for the menus that offer them."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from runs.exports import FORMATS


@dataclass(frozen=True)
class ExportLink:
    href: str
    suffix: str
    words: str


def exports_of(key: str) -> list[ExportLink]:
    """Of the arms "3~4" as they are now."""
    return [
        ExportLink(f"{reverse('compare-export', args=[f.suffix])}?arms={key}", f.suffix, f.words)
        for f in FORMATS.values()
    ]


def exports_of_share(token: str) -> list[ExportLink]:
    """Of a link's frozen copy."""
    return [
        ExportLink(reverse("shared-export", args=[token, f.suffix]), f.suffix, f.words)
        for f in FORMATS.values()
    ]
