"""A folder of logs and results with a few words beside them: ``campaign.json`` and ``notes.md``.

The file states what no text says of itself: the question, the machine, what arms are called, what
a tag stands for. Every figure comes from the texts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runs.actions.annotate import add_note
from runs.actions.import_texts import store_texts
from runs.actions.imported import named_host
from runs.actions.texts import Source
from runs.intake.plan import Hints
from runs.models import Campaign, Note
from runs.readers.notes import read_notes
from runs.readers.showcase import NOTES, NotACampaign

CAMPAIGN = "campaign.json"


def import_texts_folder(*, folder: Path, source: str) -> Campaign:
    """Store one folder. Raises NotACampaign. Inside the caller's transaction."""
    told = _told(folder)
    host = dict(told.get("host", {}))
    campaign = store_texts(
        sources=[
            Source(path.name, path)
            for path in sorted(folder.iterdir())
            if path.is_file() and path.name not in (CAMPAIGN, NOTES)
        ],
        hints=Hints(names=told.get("names", {}), settings=told.get("settings", {}), server={}),
        question=str(told["campaign"]),
        source=source,
        facts={"host": host},
        by=None,
        host=named_host(str(host.get("name", "unknown")), host),
    )
    _notes(folder, campaign)
    return campaign


def _told(folder: Path) -> dict[str, Any]:
    try:
        told = json.loads((folder / CAMPAIGN).read_bytes())
    except (ValueError, RecursionError) as problem:
        raise NotACampaign(f"{CAMPAIGN} is not JSON: {problem}") from problem
    if not isinstance(told, dict) or not told.get("campaign"):
        raise NotACampaign(f"{CAMPAIGN}: 'campaign' is missing")
    return told


def _notes(folder: Path, campaign: Campaign) -> None:
    """All on the campaign; what a note hangs on stands in its words."""
    path = folder / NOTES
    if not path.exists():
        return
    names = [arm.name for arm in campaign.arms.all()]
    for note in read_notes(path.read_text(), names):
        kind = note.kind if note.kind in Note.Kind.values else Note.Kind.NOTE
        anchor = note.anchor_text if note.anchor != "campaign" else ""
        add_note(on=campaign, text=note.text, kind=kind, by=None, anchor=anchor)
