"""What the text around results that have no log says of the server that gave them."""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.engines.base import JSON
from runs.readers.context import FLAG_SETTINGS, engines_in
from runs.readers.reading import Reading
from runs.readers.results.base import ResultRow

UNKNOWN = "unknown"
# Lines that one engine only prints.
PHASES = {
    "decode": "sglang",
    "prefill": "sglang",
    "interval": "vllm",
    "spec_interval": "vllm",
    "iteration": "trtllm",
}
_COLUMNS = ("engine", "backend", "framework", "server")
# Of a text these hold for all its arms, where it names one engine.
_SHARED = ("engine_version", "gpu", "gpu_count", "platform", "model")


@dataclass(frozen=True, slots=True)
class About:
    """An engine by its name, or 'unknown', and settings under our names."""

    engine: str
    settings: dict[str, JSON]


NOTHING = About(UNKNOWN, {})


def engine_named(row: ResultRow) -> str:
    """Give the engine that a row names in a column of its own or in its arm's name."""
    words = [str(row.other.get(name, "")) for name in _COLUMNS]
    words += [str(each or "") for each in (row.name, row.context.get("label"))]
    found = {str(name) for word in words for name in engines_in(word[:200])}
    return found.pop() if len(found) == 1 else UNKNOWN


def about_rows(
    reading: Reading, everything: Sequence[ResultRow], rows: Sequence[ResultRow], *, alone: bool
) -> About:
    """Tell it of some `rows` of `everything` in a text; `alone`: they are its only arm.

    Nothing is told where the text names two engines: which arm is whose is not known.
    """
    told = reading.context.get("engines_told")
    named = {str(name) for name in told} if isinstance(told, list) else set()
    named |= {PHASES[s.phase] for s in reading.samples if s.phase in PHASES}
    named |= {engine for row in everything if (engine := engine_named(row)) != UNKNOWN}
    if len(named) > 1:
        return NOTHING
    engine = named.pop() if named else UNKNOWN
    context = reading.context
    if context.get("several_commands"):
        return About(engine, {})
    if alone and all(_agree(row, context) for row in rows):
        return About(engine, context)
    shared = {name: context[name] for name in _SHARED if name in context}
    return About(engine, shared if engine != UNKNOWN else {})


def _agree(row: ResultRow, context: dict[str, JSON]) -> bool:
    """Whether a row says nothing else of its server than the command in its text."""
    return all(
        row.context[name] == context[name]
        for name in FLAG_SETTINGS
        if row.context.get(name) is not None and context.get(name) is not None
    )
