"""How often somebody may ask in a minute.

Each web process counts by itself: that needs no store which may be away, and keeps who asks without
end from taking the product's time, which is all it is for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

WINDOW_S = 60.0


class Turnstile:
    """Lets everybody pass ``most`` times in each minute of its clock."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._window = -1
        self._passed: Counter[str] = Counter()

    def lets(self, who: str) -> bool:
        window = int(self._clock() // WINDOW_S)
        if window != self._window:
            self._window, self._passed = window, Counter()
        self._passed[who] += 1
        return self._passed[who] <= self.most
