"""Throughput sinks because the contexts grow."""

from itertools import pairwise

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

MIN_LINES = 3
MIN_GROWTH = 2
MIN_DROP = 0.05


def find(paste: Paste) -> Finding | None:
    """Fire when tokens per request double at one batch size and throughput sinks by a twentieth."""
    for samples in paste.part_samples():
        lines = [
            each
            for each in samples
            if each.phase == "decode" and each.running and each.tokens and each.output_tps
        ]
        if len(lines) < MIN_LINES or len({each.running for each in lines}) > 1:
            continue
        first, last = lines[0], lines[-1]
        contexts = [(each.tokens or 0) / (each.running or 1) for each in lines]
        grows = all(left < right for left, right in pairwise(contexts))
        drop = (last.output_tps or 0) / (first.output_tps or 1) - 1
        steady = (
            not any(each.waiting for each in lines) and len({each.graph for each in lines}) == 1
        )
        if grows and steady and contexts[-1] >= MIN_GROWTH * contexts[0] and drop <= -MIN_DROP:
            text = (
                f"Throughput changes by {drop:.0%} while contexts grow from {contexts[0]:.0f} to "
                f"{contexts[-1]:.0f} tokens a request: compare equal lengths only."
            )
            return Finding(
                "context-growth",
                text,
                {"change": round(drop, 4), "growth": round(contexts[-1] / contexts[0], 2)},
            )
    return None
