from __future__ import annotations

import math
import random
import statistics
from itertools import pairwise

import pytest

from hosts.demo.simulator.memory import plan_memory
from hosts.demo.simulator.model import (
    Speculation,
    SpeedSettings,
    acceptance,
    decode_seconds,
    draw_accepted,
    launch_effect,
    mean_accept_len,
    stream_stride,
)


def chain(steps: int) -> Speculation:
    return Speculation(steps, 1, steps + 1)


def limit(steps: int) -> int:
    return plan_memory(
        chain(steps),
        mem_fraction=0.84,
        tp_size=1,
        max_running_requests=None,
        max_total_tokens=None,
        graphs=True,
    ).limit


def tps(
    steps: int,
    concurrency: int,
    *,
    graph: bool = True,
    temperature: float | None = None,
    kind: str = "chat",
    effect: float = 1.0,
) -> float:
    """Tokens per second of the model at a concurrency, with 300 tokens of context each."""
    speed = SpeedSettings(chain(steps), 1, True, effect)
    batch = min(concurrency, limit(steps))
    accept_len = mean_accept_len(acceptance(chain(steps), kind, temperature, False))
    return batch * accept_len / decode_seconds(speed, batch, 300 * batch, graph)


@pytest.mark.parametrize(("steps", "expected"), [(0, 60), (1, 105), (2, 135), (3, 150)])
def test_it_gives_the_documented_speeds_at_concurrency_one(steps: int, expected: float) -> None:
    assert tps(steps, 1) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("concurrency", [1, 2, 4, 8, 16])
def test_more_steps_gain_with_diminishing_returns(concurrency: int) -> None:
    speeds = [tps(steps, concurrency) for steps in (0, 1, 2, 3)]
    ratios = [after / before for before, after in pairwise(speeds)]
    assert all(ratio > 1.0 for ratio in ratios)
    assert ratios == sorted(ratios, reverse=True)


def test_the_gain_shrinks_at_64_because_the_limit_does() -> None:
    assert tps(2, 64) / tps(1, 64) < 1.08 < tps(2, 16) / tps(1, 16)
    assert tps(3, 64) < tps(2, 64)


@pytest.mark.parametrize(("steps", "expected"), [(0, 64), (1, 26), (2, 21), (3, 18)])
def test_the_running_limit_falls_with_draft_tokens(steps: int, expected: int) -> None:
    assert limit(steps) == expected


def test_acceptance_declines_with_the_position() -> None:
    chances = acceptance(chain(5), "chat", None, False)
    assert list(chances) == sorted(chances, reverse=True)
    assert len(chances) == 5


def test_temperature_zero_flatters() -> None:
    lengths = [mean_accept_len(acceptance(chain(3), "chat", t, False)) for t in (0.0, 0.7, 1.0)]
    assert lengths == sorted(lengths, reverse=True)
    assert tps(3, 1, temperature=0.0) > 1.05 * tps(3, 1, temperature=0.7)


def test_no_temperature_means_the_model_default() -> None:
    assert acceptance(chain(2), "chat", None, False) == acceptance(chain(2), "chat", 0.7, False)


def test_code_is_easier_than_chat_and_chat_than_prose() -> None:
    lengths = [
        mean_accept_len(acceptance(chain(3), kind, None, False))
        for kind in ("code", "chat", "prose")
    ]
    assert lengths == sorted(lengths, reverse=True)


def test_a_loop_is_easier_still() -> None:
    plain = mean_accept_len(acceptance(chain(3), "chat", 0.0, False))
    assert mean_accept_len(acceptance(chain(3), "chat", 0.0, True)) > plain


def test_a_wider_tree_accepts_more_and_costs_more() -> None:
    tree = Speculation(3, 4, 16)
    chances = acceptance(tree, "chat", None, False)
    assert mean_accept_len(chances) > mean_accept_len(acceptance(chain(3), "chat", None, False))
    cost = decode_seconds(SpeedSettings(tree, 1, True, 1.0), 8, 2400, True)
    assert cost > decode_seconds(SpeedSettings(chain(3), 1, True, 1.0), 8, 2400, True)


def test_graphs_off_is_slower_above_all_at_small_batches() -> None:
    losses = [tps(2, batch, graph=False) / tps(2, batch) for batch in (1, 8, 16)]
    assert losses[0] < 0.5
    assert losses == sorted(losses)


def test_the_launch_effect_has_a_spread_of_one_percent() -> None:
    logs = [math.log(launch_effect(seed)) for seed in range(2000)]
    assert statistics.stdev(logs) == pytest.approx(0.01, rel=0.08)
    assert statistics.mean(logs) == pytest.approx(0.0, abs=0.001)


def test_two_launches_of_one_seed_are_alike() -> None:
    assert launch_effect(7) == launch_effect(7) != launch_effect(8)
    assert tps(2, 8, effect=launch_effect(7)) == tps(2, 8, effect=launch_effect(7))


def test_drawn_accept_lengths_average_to_the_mean() -> None:
    chances = acceptance(chain(3), "chat", None, False)
    rng = random.Random(1)
    drawn = [draw_accepted(chances, rng) for _ in range(20000)]
    assert statistics.mean(drawn) == pytest.approx(mean_accept_len(chances), rel=0.01)
    assert {1, 2, 3, 4} == set(drawn)


@pytest.mark.parametrize("batch", [1, 16, 64, 128, 256, 512])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_all_streams_together_stay_below_1500_chunks_a_second(batch: int, steps: int) -> None:
    seconds = decode_seconds(SpeedSettings(chain(steps), 1, True, 1.0), batch, 300 * batch, True)
    assert batch / seconds / stream_stride(batch, seconds, 1) <= 1500


def test_64_plain_requests_need_no_coarser_chunks() -> None:
    seconds = decode_seconds(SpeedSettings(chain(0), 1, True, 1.0), 64, 300 * 64, True)
    assert stream_stride(64, seconds, 1) == 1
    assert stream_stride(64, seconds, 4) == 4
