"""The pools of a server, and how full a line says they are."""

from collections.abc import Iterator

from runs.engines.base import Sample

_POOLS = {
    "full_token_usage": "full attention",
    "swa_token_usage": "sliding window",
    "mamba_usage": "mamba state",
    "gpu_token_usage": "GPU",
}


def pools(sample: Sample) -> Iterator[tuple[str, float]]:
    """Give (pool, usage as a fraction); a pool is named once, under its own name."""
    told = False
    for field, name in _POOLS.items():
        usage = sample.extras.get(field)
        if isinstance(usage, int | float) and not isinstance(usage, bool):
            told = told or field == "full_token_usage"
            yield name, float(usage)
    if sample.token_usage is not None and not told:
        yield "KV", sample.token_usage
