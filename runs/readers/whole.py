"""A file that is nothing but results, as a reading."""

from runs.caveats.text.paste import Paste
from runs.caveats.text.registry import find_in_text
from runs.readers.derive import derived
from runs.readers.reading import Reading, short_rows
from runs.readers.results.base import ResultReading


def read_whole(found: ResultReading, name: str) -> Reading:
    """Give the results their caveats."""
    paste = Paste(
        samples=(),
        events=(),
        requests=(),
        rows=found.rows,
        parts=(),
        context=found.context,
        damaged=len(found.damaged),
        failures=tuple(each.text for each in found.failures),
        elided=False,
        looping=None,
        offsets_s=(),
        late=0,
    )
    return Reading(
        name=name,
        kind="bench-result",
        samples=(),
        events=(),
        damaged=found.damaged,
        rows=short_rows(found.rows, name),
        ignored_lines=found.ignored_lines,
        caveats=tuple(find_in_text(paste)),
        context=found.context,
        requests=(),
        results=found.rows,
        segments=(),
        derived=derived((), (), (), found.rows, ()),
    )
