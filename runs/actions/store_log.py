"""The one log of an imported run whose story stands in other files."""

from __future__ import annotations

from pathlib import Path

from runs.actions.bulk import SampleRows, insert_samples
from runs.actions.store_plan import store_events
from runs.actions.texts import store_text
from runs.engines.base import Damaged, Event
from runs.intake import storable
from runs.intake.version import PARSER_VERSION
from runs.models import Attempt, LogStream
from runs.readers.reading import Reading


def store_log(attempt: Attempt, path: Path, reading: Reading) -> LogStream:
    """The whole text, compressed and with its secrets covered, and the records read from it.

    A text without a word of the server is the client's: a table has no log lines.
    """
    of_server = reading.samples or reading.events
    stream = LogStream.objects.create(
        attempt=attempt,
        role=LogStream.Role.SERVER if of_server else LogStream.Role.LOAD,
        path=storable.text(reading.name, 200),
        parser_version=PARSER_VERSION,
    )
    store_text(stream, path)
    rows = SampleRows(stream.pk, 1)
    insert_samples([rows.row(sample) for sample in reading.samples])
    records: list[Event | Damaged] = [*reading.events, *reading.damaged]
    store_events(stream, records)
    stream.next_seq, stream.damaged = rows.seq, len(reading.damaged)
    stream.save(update_fields=["next_seq", "damaged"])
    return stream
