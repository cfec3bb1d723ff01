"""The order of a plan: blocks of one launch of each arm, every second one backwards, A B B A."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def interleaved(arms: Sequence[T], launches: int) -> list[list[T]]:
    """One block for each launch. A host that drifts then harms no arm more than another.

    Where blocks meet, an arm follows itself; its server is started anew all the same.
    """
    return [list(arms if n % 2 == 0 else reversed(arms)) for n in range(launches)]
