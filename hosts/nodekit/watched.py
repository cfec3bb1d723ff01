"""A server that is not our child: what it must answer, and the record of what was seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Protocol

WATCHED = "watched.json"

# Codes of ends, for programs; the sentences are for people.
DIED = "server-died"
RESTARTED = "server-restarted"
CRASH_LOOP = "crash-loop"
OUTSIDE = "outside-actor"
UNFIT = "unit-unfit"
NOT_RUNNING = "not-running"


@dataclass(frozen=True)
class End:
    """Why nobody needs to go on watching."""

    reason: str
    text: str


class Server(Protocol):
    """``told`` is the record: JSON values, replaced key by key as more is seen."""

    told: Dict[str, Any]
    asked: bool

    def begin(self, write: Callable[[], None]) -> None:
        """Start it, or make sure that it runs. ``write`` puts the record on disk. KitError."""

    def look(self) -> Optional[End]:
        """The evidence, if there is some, that it is over with the server that was meant."""

    def let_go(self) -> None:
        """Leave it as the record's policy wants: stopped, or as it was found."""
