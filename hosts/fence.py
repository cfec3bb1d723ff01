"""What an order to a node says of its giver's claim; ``hosts.nodekit.fence`` judges it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WHOLE = "whole"


@dataclass(frozen=True)
class Fence:
    """``keys`` are the resources claimed: the whole host, or GPUs and a port.

    ``takeover``: a person decided that the node passes from another installation to this one.
    """

    owner: str
    token: int
    keys: tuple[str, ...] = (WHOLE,)
    takeover: bool = False

    def order(self) -> dict[str, Any]:
        told = {"owner": self.owner, "token": self.token, "keys": list(self.keys)}
        return {**told, "takeover": True} if self.takeover else told


def keys_of(gpus: Sequence[int], port: int | None) -> tuple[str, ...]:
    """Without GPUs it is the whole host, and that holds every port."""
    if not gpus:
        return (WHOLE,)
    return (*(f"gpu-{n}" for n in gpus), *([f"port-{port}"] if port else []))
