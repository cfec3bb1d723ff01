"""What a comparison offers to take along: its files, its links and the notes for a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from runs.exports import FORMATS
from runs.models import Arm, Note, ShareLink
from runs.snapshots import notes_around


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


def share_box(key: str, arms: Sequence[Arm], notes: Sequence[Note] | None = None) -> dict[str, Any]:
    """What the share dialog shows: links that were made, and notes that may be chosen.

    ``notes`` are the rail's, where a page has them: those of the house are left out.
    """
    if notes is None:
        chosen = notes_around(arms)
    else:
        chosen = [each for each in notes if each.comparison_id or each.arm_id or each.campaign_id]
        chosen.sort(key=lambda note: note.pk)
    links = list(ShareLink.objects.of_comparison(key))
    return {"key": key, "links": links, "notes_to_choose": chosen}


def chart_words(arms: Iterable[tuple[str, str]], source: str) -> dict[str, str]:
    """What stands on a saved chart: the arms, each with its letter, and where it comes from."""
    told = " · ".join(f"{letter} {name}" for letter, name in arms)
    return {"chart_arms": told, "chart_source": source}
