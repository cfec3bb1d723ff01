"""What the stand-in client prints and writes: bar, result block and JSON line, as of 0.5.20."""

from __future__ import annotations

import argparse
import sys
import time
from statistics import mean, median, pstdev
from typing import Any, Sequence

from .benchclient import Answer

WIDTH = 50
SECTIONS = (
    ("End-to-End Latency", "e2e_latency", "E2E Latency"),
    ("Time to First Token", "ttft", "TTFT"),
    ("Time per Output Token (excl. 1st token)", "tpot", "TPOT"),
    ("Inter-Token Latency", "itl", "ITL"),
)


class Bar:
    """A progress bar of tqdm's form, on stderr."""

    def __init__(self, of: int) -> None:
        self.of = of
        self.begun = time.perf_counter()

    def draw(self, done: int) -> None:
        seconds = time.perf_counter() - self.begun
        rate = done / seconds if seconds else 0.0
        left = (self.of - done) / rate if rate else 0.0
        full = 10 * done // self.of
        sys.stderr.write(
            "\r{:3d}%|{}| {}/{} [{}<{}, {:5.2f}it/s]".format(
                100 * done // self.of,
                "█" * full + " " * (10 - full),
                done,
                self.of,
                _clock(seconds),
                _clock(left),
                rate,
            )
        )
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def measure(
    asked: argparse.Namespace, answers: Sequence[Answer], duration: float, info: dict[str, Any]
) -> dict[str, Any]:
    """The JSON line. Times in milliseconds; a failed request counts nowhere but by its absence."""
    good = [each for each in answers if not each.error]
    tokens_in, tokens_out = sum(e.input_len for e in good), sum(e.output_len for e in good)
    states = info.get("internal_states") or [{}]
    found: dict[str, Any] = {
        "tag": asked.tag,
        "backend": asked.backend,
        "dataset_name": asked.dataset_name,
        "request_rate": asked.request_rate,
        "max_concurrency": asked.max_concurrency,
        "sharegpt_output_len": asked.sharegpt_output_len,
        "random_input_len": asked.random_input_len,
        "random_output_len": asked.random_output_len,
        "random_range_ratio": asked.random_range_ratio,
        "server_info": info,
        "duration": duration,
        "completed": len(good),
        "total_input_tokens": tokens_in,
        "total_input_text_tokens": tokens_in,
        "total_input_vision_tokens": 0,
        "total_output_tokens": tokens_out,
        "total_output_tokens_retokenized": tokens_out,
        "request_throughput": len(good) / duration,
        "input_throughput": tokens_in / duration,
        "output_throughput": tokens_out / duration,
        "total_throughput": (tokens_in + tokens_out) / duration,
    }
    for name, values in _times(good):
        found.update(_statistics(name, values))
    found["concurrency"] = sum(each.latency for each in good) / duration
    found["accept_length"] = states[0].get("avg_spec_accept_length")
    return found


def _times(good: Sequence[Answer]) -> list[tuple[str, list[float]]]:
    long_enough = [each for each in good if each.output_len > 1]
    return [
        ("e2e_latency", [each.latency for each in good]),
        ("ttft", [each.ttft for each in good]),
        ("tpot", [(e.latency - e.ttft) / (e.output_len - 1) for e in long_enough]),
        ("itl", [gap for each in good for gap in each.gaps]),
    ]


def _statistics(name: str, seconds: Sequence[float]) -> dict[str, float]:
    values = sorted(1000 * each for each in seconds) or [0.0]
    told = {"mean": mean(values), "median": median(values), "std": pstdev(values)}
    told.update({f"p{p}": _percentile(values, p) for p in (90, 95, 99)})
    return {f"{stat}_{name}_ms": value for stat, value in told.items()}


def _percentile(values: Sequence[float], percent: float) -> float:
    """Between the two nearest, as numpy does by default."""
    place = (len(values) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def block(asked: argparse.Namespace, found: dict[str, Any]) -> str:
    rows = [
        ("Backend:", asked.backend),
        ("Traffic request rate:", asked.request_rate),
        ("Max request concurrency:", asked.max_concurrency or "not set"),
        ("Successful requests:", found["completed"]),
        ("Benchmark duration (s):", found["duration"]),
        ("Total input tokens:", found["total_input_tokens"]),
        ("Total input text tokens:", found["total_input_text_tokens"]),
        ("Total generated tokens:", found["total_output_tokens"]),
        ("Total generated tokens (retokenized):", found["total_output_tokens_retokenized"]),
        ("Request throughput (req/s):", found["request_throughput"]),
        ("Input token throughput (tok/s):", found["input_throughput"]),
        ("Output token throughput (tok/s):", found["output_throughput"]),
        ("Total token throughput (tok/s):", found["total_throughput"]),
        ("Concurrency:", found["concurrency"]),
    ]
    if found["accept_length"]:
        rows.append(("Accept length:", found["accept_length"]))
    lines = ["{s:{c}^{n}}".format(s=" Serving Benchmark Result ", c="=", n=WIDTH)]
    lines += [_row(label, value) for label, value in rows]
    for title, key, word in SECTIONS:
        lines.append("{s:{c}^{n}}".format(s=title, c="-", n=WIDTH))
        for stat in ("mean", "median", "p90", "p95", "p99"):
            shown = stat.title() if stat in ("mean", "median") else stat.upper()
            label = f"{shown} {word} (ms):"
            lines.append(_row(label, found[f"{stat}_{key}_ms"]))
    return "\n".join([*lines, "=" * WIDTH]) + "\n"


def _row(label: str, value: Any) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f"{label:<40} {text:<10}"
