"""Which batch sizes and prefill lengths are captured as graphs. Pure."""

from __future__ import annotations

from .launch import Launch

DECODE_SIZES = [1, 2, 4, *range(8, 513, 8)]
VERIFY_SIZES = [*range(1, 9), *range(10, 33, 2), 40, 44, *range(48, 513, 8)]
PREFILL_SIZES = [*range(4, 33, 4), 48, *range(64, 257, 16), *range(288, 513, 32)]
PREFILL_SIZES += [*range(576, 1025, 64), *range(1280, 4097, 256), *range(4608, 8193, 512)]


def captured_batches(launch: Launch, limit: int) -> list[int]:
    """Batch sizes whose decode step is captured; empty if graphs are off."""
    if not launch.graph_decode:
        return []
    most = launch["cuda_graph_max_bs_decode"] or min(limit, 160)
    sizes = VERIFY_SIZES if launch.speculative else DECODE_SIZES
    return sorted({size for size in sizes if size < most} | {most})


def captured_prefills(launch: Launch) -> list[int]:
    """Token counts whose prefill is captured; empty if graphs are off."""
    if not launch.graph_prefill:
        return []
    most = launch["cuda_graph_max_bs_prefill"] or 8192
    return [size for size in PREFILL_SIZES if size <= most]
