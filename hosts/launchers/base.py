"""What every launcher can say. It asks nothing of a node itself: it makes the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Request = dict[str, Any]


class Launcher(Protocol):
    """One job of one attempt: the server, or the load."""

    @property
    def log_path(self) -> str:
        """Its log, relative to the state folder on the node."""
        ...

    def start_request(
        self,
        *,
        op: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        wall_s: float | None,
        files: Mapping[str, str],
        cwd: str | None,
        stop_grace_s: float,
    ) -> Request: ...

    def status_request(self) -> Request: ...

    def follow_request(self, offset: int) -> Request: ...

    def stop_request(self, *, grace_s: float) -> Request: ...
