"""Notes of a campaign: a Markdown list whose items end in '(on the host, kind: finding)'."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

AnchorType: TypeAlias = Literal["campaign", "host", "run", "arms"]
KINDS = ("note", "caveat", "question", "decision", "finding")

_TAIL = re.compile(r"\s*\(on ([^(),]{1,200})(?:, kind: ([^()]{1,200}))?\)\s*\Z")


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """One remark. `anchor_text` is as written ('both arms'); `arms` are those it hangs on.

    `kind` is one of KINDS, `tags` what else was said of it ('dead end').
    """

    text: str
    kind: str
    tags: tuple[str, ...]
    anchor_text: str
    anchor: AnchorType
    arms: tuple[str, ...]


def read_notes(markdown: str, arms: Sequence[str]) -> tuple[ImportedNote, ...]:
    """Read every item of the list. A note without an anchor hangs on the campaign."""
    return tuple(_note(item, arms) for item in _items(markdown))


def _items(markdown: str) -> Iterator[str]:
    """Join each item with its indented continuation lines."""
    item: list[str] = []
    for line in markdown.splitlines():
        if line.startswith(("- ", "* ")):
            if item:
                yield " ".join(item)
            item = [line[2:].strip()]
        elif item and line.startswith(" ") and line.strip():
            item.append(line.strip())
    if item:
        yield " ".join(item)


def _note(item: str, arms: Sequence[str]) -> ImportedNote:
    tail = _TAIL.search(item)
    anchor_text = tail[1].strip() if tail else "the campaign"
    words = [word.strip() for word in (tail[2] or "").split(",")] if tail else []
    kinds = [word for word in words if word in KINDS]
    anchor, hangs_on = _anchor(anchor_text, arms)
    return ImportedNote(
        text=item[: tail.start()] if tail else item,
        kind=kinds[0] if kinds else "note",
        tags=tuple(word for word in words if word and word not in kinds[:1]),
        anchor_text=anchor_text,
        anchor=anchor,
        arms=hangs_on,
    )


def _anchor(text: str, arms: Sequence[str]) -> tuple[AnchorType, tuple[str, ...]]:
    named = text.removeprefix("the ").removesuffix(" arm")
    if text == "both arms":
        return "arms", tuple(arms)
    if text.endswith(" arm") and named in arms:
        return "arms", (named,)
    if text == "the host":
        return "host", ()
    return ("run", ()) if text == "the run" else ("campaign", ())
