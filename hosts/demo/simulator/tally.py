"""The counters behind the decode line: when it is due and what it says. Pure.

As in SGLang (every release): a line falls when the decode counter is a multiple of the interval;
tokens and verifications are those since the line before; the clock of the line before is touched
neither by idling nor by prefills nor by a cache flush.
"""

from __future__ import annotations


class DecodeTally:
    """Counts of decode steps; times are seconds of any steady clock."""

    def __init__(self, interval: int, started: float, speculative: bool) -> None:
        self._interval = interval
        self._speculative = speculative
        self._last_line = started
        self.last_tps = 0.0
        self.reset()

    def reset(self) -> None:
        """What a cache flush does; the time of the last line stays."""
        self._steps = 0
        self._tokens = 0
        self._verifications = 0
        self._all_tokens = 0
        self._all_verifications = 0
        self.mean_accept_len: float | None = None

    def step(self, tokens: int, requests: int) -> bool:
        """Count one step; True if a line is due now."""
        self._steps += 1
        self._tokens += tokens
        self._verifications += requests
        return self._steps % self._interval == 0

    def line(self, now: float) -> float | None:
        """Close the interval: sets last_tps, returns the accept len (None: no speculation)."""
        self.last_tps = self._tokens / max(now - self._last_line, 1e-9)
        accept_len = self._tokens / self._verifications if self._speculative else None
        self._all_tokens += self._tokens
        self._all_verifications += self._verifications
        if self._speculative:
            self.mean_accept_len = self._all_tokens / self._all_verifications
        self._last_line = now
        self._tokens = 0
        self._verifications = 0
        return accept_len
