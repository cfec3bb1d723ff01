"""Make a campaign of texts that somebody pasted, uploaded or keeps in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hosts.models import Host
from people.models import Person
from runs.actions.import_large import import_large, nothing_in
from runs.actions.large_log import is_streamed
from runs.actions.launch import Refused
from runs.actions.pieces import Pieces
from runs.actions.store_plan import Texts, store_plan
from runs.actions.texts import PASTED, Source, read_source
from runs.intake import storable
from runs.intake.build import plan
from runs.intake.plan import NO_HINTS, Hints, Plan, Text
from runs.models import Campaign


def import_texts(
    *,
    sources: Sequence[Source],
    by: Person | None,
    pieces: Pieces | None = None,
    question: str = "",
    arm: str = "",
) -> Campaign:
    """A campaign of everything the texts say. The texts are kept whole.

    ``question`` is the campaign's, ``arm`` the name of its arm if it has one only; both may be
    left to be made of the texts' names.

    One transaction, unless a text is large: then one for each piece of it, and what is not whole
    is shown nowhere. Raises :class:`Refused` if they say nothing of a server or a client.
    """
    question = storable.text(question.strip() or question_of(sources), 300)
    hints = replace(NO_HINTS, only=storable.text(arm.strip(), 120))
    if any(is_streamed(source) for source in sources):
        facts = {"_import": noted(hints)}
        return import_large(
            sources=sources, hints=hints, question=question, facts=facts, by=by, pieces=pieces
        )
    pieces = pieces or Pieces()
    with pieces.last():
        campaign = store_texts(
            sources=sources, hints=hints, question=question, source="", facts={}, by=by
        )
        pieces.whole(campaign)
    return campaign


def store_texts(
    *,
    sources: Sequence[Source],
    hints: Hints,
    question: str,
    source: str,
    facts: Mapping[str, Any],
    by: Person | None,
    host: Host | None = None,
) -> Campaign:
    """The same with what somebody noted of the texts. Inside the caller's transaction."""
    texts = [Text(each.name, read_source(each)) for each in sources]
    planned = plan(texts, hints)
    if not planned.arms:
        raise Refused(nothing_in(texts, sources))
    campaign = Campaign.objects.create(
        question=storable.text(question, 300),
        source=source,
        opened_by=by,
        facts={**facts, **texts_told(texts), "_import": noted(hints)},
    )
    store_plan(campaign, planned, Texts(sources, [text.reading for text in texts]), by, host)
    return campaign


def question_of(sources: Sequence[Source]) -> str:
    first = sources[0].name
    if len(sources) > 1:
        return f"What do {first} and {len(sources) - 1} more say?"
    return f"What does {'the ' * (first == PASTED)}{first} say?"


def texts_told(texts: Sequence[Text]) -> dict[str, Any]:
    """What each text was read as, in a few words."""
    told = {
        storable.text(text.name, 120): ", ".join(
            [
                text.reading.kind,
                f"{len(text.reading.samples)} samples",
                f"{len(text.reading.rows)} results",
                f"{len(text.reading.damaged)} damaged",
            ]
        )
        for text in texts
    }
    return {"read_from": told}


def noted(hints: Hints) -> dict[str, Any]:
    """The hints as JSON, so that reading again gives the same arms."""
    return {
        "names": dict(hints.names),
        "settings": {ending: dict(told) for ending, told in hints.settings.items()},
        "server": dict(hints.server),
        "only": hints.only,
    }


def noted_hints(told: Mapping[str, Any]) -> Hints:
    return Hints(
        names=told.get("names", {}),
        settings=told.get("settings", {}),
        server=told.get("server", {}),
        only=told.get("only", ""),
    )


def summary_of(planned: Plan) -> str:
    """ "2 arms, 3 launches, 8 levels"."""
    counts = (
        (len(planned.arms), "arm"),
        (planned.launches, "launch"),
        (planned.levels, "level"),
    )
    return ", ".join(f"{n} {word}{_plural(word) if n != 1 else ''}" for n, word in counts)


def _plural(word: str) -> str:
    return "es" if word.endswith("ch") else "s"
