"""Statistics kept as an object: {'mean': …, 'p99': …}, under whichever words."""

from collections.abc import Mapping

from runs.engines.base import JSON
from runs.readers.results.names import stat
from runs.readers.results.numbers import finite
from runs.readers.results.rows import RowBuilder
from runs.readers.results.safe import mapping

# GuideLLM and a few others leave the point out: p999 is 99.9.
_SPECIAL = {"p999": "p99_9", "p001": "p0_1"}


def put_stats(
    builder: RowBuilder, family: str, stats: Mapping[str, JSON], native_name: str, unit: str
) -> None:
    """Take every statistic that has a word of ours; counts and sums stay in the file."""
    told = {**stats, **{f"percentiles.{k}": v for k, v in mapping(stats, "percentiles").items()}}
    for native, value in told.items():
        word = native.removeprefix("percentiles.")
        key = _SPECIAL.get(word) or stat(word)
        if key is not None and value is not None:
            builder.put(f"{family}_{key}", value, f"{native_name}.{native}", unit)


def keep_stats(builder: RowBuilder, native_name: str, stats: Mapping[str, JSON]) -> None:
    """Keep the statistics of a quantity that has no canonical name."""
    kept: dict[str, JSON] = {
        word: finite(value)
        for word, value in stats.items()
        if (stat(word) or word in ("avg", "value")) and finite(value) is not None
    }
    builder.keep(native_name, kept or None)
