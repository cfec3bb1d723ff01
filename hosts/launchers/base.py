"""What every launcher can say. It asks nothing of a node itself: it makes the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Request = dict[str, Any]


@dataclass(frozen=True)
class Unfit:
    """Why nothing is started on this node as it is: a code for programs, a text for people."""

    code: str
    text: str

    @classmethod
    def port_taken(cls, port: int, listeners: Sequence[Mapping[str, Any]]) -> Unfit:
        return cls(
            "port-taken",
            f"Port {port} is taken by {named(listeners)}. Its answers would be measured instead of "
            "those of the new server. Stop it, or give the arm another port.",
        )


def named(processes: Sequence[Mapping[str, Any]]) -> str:
    """Processes as a sentence names them."""
    known = [who for who in processes if who.get("pid")]
    words = ", ".join(f"{who.get('name') or 'a process'} (pid {who['pid']})" for who in known)
    return words or "a process of another user"


class Launcher(Protocol):
    """The server of one attempt: how it is started, watched and stopped."""

    @property
    def log_path(self) -> str:
        """Its log, relative to the state folder on the node."""
        ...

    @property
    def sets_arguments(self) -> bool:
        """Whether the server runs with the arguments of this config, or with its own."""
        ...

    def prepare_request(self) -> Request:
        """What to ask the node before anything is started."""
        ...

    def in_the_way(self, processes: Sequence[Request]) -> list[Request]:
        """Those that would still be there beside the server once it is started."""
        ...

    def unfit(self, found: Mapping[str, Any]) -> Unfit | None:
        """Why it cannot be started there, by what was found."""
        ...

    def start_request(
        self, *, op: str, argv: Sequence[str], env: Mapping[str, str], wall_s: float | None
    ) -> Request: ...

    def has_begun(self, answers: Mapping[str, Any]) -> bool:
        """Whether what answers by now can be the server meant, and none from before its start."""
        ...

    def strangers(self, answers: Mapping[str, Any], server: Mapping[str, Any]) -> list[Request]:
        """Who listens on the port and is not the server; ``server`` is its started record."""
        ...

    def status_request(self) -> Request: ...

    def follow_request(self, offset: int) -> Request: ...

    def stop_request(self, *, grace_s: float) -> Request: ...
