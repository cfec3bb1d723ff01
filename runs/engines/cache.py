"""How a server is asked to forget what it has cached."""

from __future__ import annotations

from dataclasses import dataclass

from runs.engines.base import JSON


@dataclass(frozen=True, slots=True)
class CacheReset:
    """The path of a POST, and what a server that does not know it may need; empty: nothing.

    `counters` is where the server counts prompt tokens, for engines whose log does not tell them
    a level at a time: the path, and the names of those found in the cache and of all.
    """

    path: str
    needs: str
    counters: tuple[str, str, str] | None = None

    def told(self, policy: str) -> dict[str, JSON]:
        """Give the node kit's `cache` for a policy."""
        told: dict[str, JSON] = {"policy": policy}
        if policy == "flush":
            told |= {"path": self.path, "hint": self.needs}
        if self.counters is not None:
            path, cached, asked = self.counters
            told["counters"] = {"path": path, "cached": cached, "asked": asked}
        return told


USUAL = CacheReset("/flush_cache", "")
