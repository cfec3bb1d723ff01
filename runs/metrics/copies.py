"""Lines and results that stand twice in a text: pasted twice, never measured twice."""

from collections.abc import Hashable, Sequence

from runs.engines.base import Sample


def once(samples: Sequence[Sample]) -> list[Sample]:
    """Give the samples without exact copies of earlier ones, in their order.

    A copy agrees in everything that its line says, its stamp included. A sample without a stamp is
    none: what it says may come again.
    """
    seen: set[Hashable] = set()
    found = []
    for sample in samples:
        key = _said(sample)
        if key is None or key not in seen:
            found.append(sample)
            seen.add(key)
    return found


def _said(sample: Sample) -> Hashable:
    if sample.time is None or sample.output_tps is None:
        return None
    return (
        *(sample.phase, sample.time, sample.rank, sample.extras.get("source")),
        *(sample.extras.get("process_pid"), sample.extras.get("iteration")),
        *(sample.running, sample.waiting, sample.tokens, sample.token_usage, sample.accept_len),
        *(sample.accept_rate, sample.output_tps, sample.input_tps, sample.graph),
    )
