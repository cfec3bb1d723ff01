"""Two bursts of lines an hour apart, as one arm."""

from __future__ import annotations

import pytest

from runs.readers import read


def burst(hour: int, accept: float, lines: int = 4) -> str:
    return "".join(
        f"[2026-11-10 {hour:02}:00:{second:02} TP0] Decode batch, #running-req: 4, #token: 6000, "
        f"token usage: 0.10, accept len: {accept:.2f}, accept rate: 0.50, cuda graph: True, "
        "gen throughput (token/s): 400.00, #queue-req: 0\n"
        for second in range(10, 10 + lines * 4, 4)
    )


def told(text: str) -> list[str]:
    found = read(text.encode(), "a.log").caveats
    return [finding.text for finding in found if finding.slug == "two-bursts"]


def test_another_accept_len_an_hour_later_is_said() -> None:
    (words,) = told(burst(9, 2.40) + "and with steps 2\n" + burst(10, 1.90))
    assert "60 min apart" in words and "2.40 and 1.90" in words
    (words,) = told(burst(9, 2.40) + burst(15, 1.90))
    assert "6.0 h apart" in words


@pytest.mark.parametrize(
    "text",
    [
        burst(9, 2.40) + burst(10, 2.45),  # the same server, after lunch
        burst(9, 2.40, 8) + burst(9, 1.90).replace(" 09:00", " 09:20"),  # no pause to speak of
        burst(9, 2.40) + burst(10, 1.90, 2),  # two lines are no burst
        burst(9, 2.40),
    ],
)
def test_what_is_near_it_says_nothing(text: str) -> None:
    assert told(text) == []
