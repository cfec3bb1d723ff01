"""Who asks too often waits for the next minute, alone."""

from __future__ import annotations

from webapp.turnstile import Turnstile


def test_everybody_has_a_count_of_their_own_that_begins_anew_each_minute() -> None:
    now = 119.0
    turnstile = Turnstile(2, clock=lambda: now)
    assert [turnstile.lets("a") for _ in range(3)] == [True, True, False]
    assert turnstile.lets("b")
    now = 120.0
    assert turnstile.lets("a")
