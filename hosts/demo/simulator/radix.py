"""The prefix cache: which blocks of 64 prompt tokens were seen before, in order. Pure."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Sequence

BLOCK = 64


class PrefixCache:
    """Remembers prompt prefixes, least recently used blocks forgotten first."""

    def __init__(self, capacity_tokens: int, enabled: bool) -> None:
        self._most = max(1, capacity_tokens // BLOCK)
        self._enabled = enabled
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def look_up(self, tokens: Sequence[str]) -> int:
        """Tokens of the longest prefix seen before; remembers this prompt from now on."""
        if not self._enabled:
            return 0
        blocks = _chained(tokens)
        known = 0
        for block in blocks:
            if block not in self._seen:
                break
            known += 1
        for block in blocks:
            self._seen[block] = None
            self._seen.move_to_end(block)
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return min(known * BLOCK, len(tokens) - 1) if known else 0

    def clear(self) -> None:
        self._seen.clear()


def _chained(tokens: Sequence[str]) -> list[bytes]:
    """One digest per full block; each covers everything before it."""
    digests: list[bytes] = []
    before = b""
    for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
        body = "\x1f".join(tokens[start : start + BLOCK]).encode("utf-8", "replace")
        before = blake2b(before + body, digest_size=16).digest()
        digests.append(before)
    return digests
