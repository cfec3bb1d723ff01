"""What can be measured: its unit, and which direction is good."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """`unit` is the base unit. `better` is None where neither direction is good by itself."""

    key: str
    unit: Literal["tok/s", "s", "tokens", "requests", "fraction", "1/s"]
    better: Literal["up", "down"] | None
    label: str


def _latency(key: str, label: str) -> list[Metric]:
    names = {"mean": "mean", "p50": "median", "p90": "p90", "p99": "p99"}
    return [Metric(f"{key}_{part}", "s", "down", f"{label} {name}") for part, name in names.items()]


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("output_tps", "tok/s", "up", "output tok/s"),
        Metric("user_tps", "tok/s", "up", "tok/s per user"),
        *_latency("ttft", "TTFT"),
        *_latency("tpot", "TPOT"),
        *_latency("itl", "gap between chunks"),
        *_latency("e2e", "end to end"),
        Metric("accept_len", "tokens", "up", "accept len"),
        Metric("steps", "1/s", "up", "step rate"),
        Metric("accept_rate", "fraction", "up", "accept rate"),
        Metric("failed", "requests", "down", "failed requests"),
        Metric("requests", "requests", None, "requests"),
        Metric("output_tokens", "tokens", None, "output tokens"),
        Metric("cached_tokens", "tokens", None, "cached tokens"),
        Metric("running", "requests", None, "running"),
        Metric("waiting", "requests", "down", "waiting"),
        Metric("token_usage", "fraction", None, "KV usage"),
    )
}


def is_gain(key: str, change: float) -> bool | None:
    """Tell whether a relative change is good news; None when it is neither."""
    better = METRICS[key].better
    if better is None or change == 0:
        return None
    return (change > 0) == (better == "up")
