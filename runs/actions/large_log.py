"""A log of any length: stored while it is read, in pieces of a few MiB, in bounded memory.

Each piece is a transaction of its own, so that nobody waits for the whole: the text, the samples
in it, its events. Samples go to one stream for each source; which launch they belong to is known
at the end only, and then whole ranges of lines change hands at once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db.models import F

from runs.actions.bulk import SampleRows, Values, insert_samples
from runs.actions.store_plan import CLOCK, as_stored, store_events
from runs.actions.texts import Source, TextWriter, blocks
from runs.engines.base import Damaged, Event, Request, Sample
from runs.intake import storable
from runs.intake.version import PARSER_VERSION
from runs.models import Arm, Attempt, LogStream, Run
from runs.models import Event as EventRow
from runs.models import Sample as SampleRow
from runs.readers.paste import Gathered
from runs.readers.reading import Reading
from runs.readers.results.registry import HEAD_BYTES, find_format
from runs.readers.stream import TextReader, Told

# Records of each kind that rules and means are asked about; all samples are stored.
KEPT = 50_000
PIECE = 4 * 2**20


def is_streamed(source: Source) -> bool:
    """Whether the text is read line by line; one JSON document is not."""
    if not source.is_large:
        return False
    with source.path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    reader = TextReader(None)
    if any(told.engine is not None for told in reader.feed(head)):
        return True
    return find_format(head) is None or head[:1].isdigit() or b"\n{" in head


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Records have no cycles: looking for some among all kept ones costs a third of the time."""
    gc.collect()  # what the page before it left, so that it does not add up
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


class LargeLog:
    """Stores one text under an arm that holds it until its launches are known."""

    def __init__(self, holder: Arm, source: Source, part: int) -> None:
        self.run: Run = holder.runs.get()
        self.source, self.part = source, part
        self.streams: dict[str | None, LogStream] = {}
        self._rows: dict[str | None, SampleRows] = {}
        self._writer: TextWriter | None = None

    def store(self, each: Callable[[int], AbstractContextManager[object]]) -> Reading:
        """Read and store all of it; ``each`` surrounds every piece and is told its bytes.

        Gives the reading of the beginning.

        Beyond :data:`KEPT` records of a kind the reading says how many more there were.
        """
        gathered = Gathered(KEPT)
        reader = TextReader(gathered.other)
        with seldom_collecting():
            for block in blocks(self.source.path, PIECE):
                told = reader.feed(block)
                gathered.take(told)
                with each(len(block)):
                    self._writer_of_text().write(block)
                    self._store(told)
            told = reader.finish()
            gathered.take(told)
            with each(0):
                self._store(told)
                self._finish()
        return gathered.reading(self.source.name)

    def _writer_of_text(self) -> TextWriter:
        if self._writer is None:
            self._writer = TextWriter(self._stream(None))
        return self._writer

    def _stream(self, source: str | None) -> LogStream:
        """The stream of a source; the first source takes the one that has the text."""
        if source in self.streams:
            return self.streams[source]
        if source is not None and list(self.streams) == [None] and not self._rows:
            stream = self.streams[source] = self.streams.pop(None)
            return stream
        first = next(iter(self.streams.values()), None)
        attempts = self.run.attempts.count()
        self.streams[source] = LogStream.objects.create(
            attempt=Attempt.objects.create(run=self.run, n=attempts + 1, facts=CLOCK),
            role=LogStream.Role.SERVER,
            part=self.part,
            path=storable.text(self.source.name, 200),
            parser_version=PARSER_VERSION,
            text_of=first,
        )
        return self.streams[source]

    def _store(self, told: list[Told]) -> None:
        samples: list[Values] = []
        events: dict[str | None, list[Event | Damaged]] = {}
        for each in told:
            record, source = each.record, each.origin.source
            if isinstance(record, Sample):
                samples.append(self._numbered(source).row(record))
            elif isinstance(record, Request):
                samples.append(self._numbered(source).request(record))
            else:
                events.setdefault(source if source in self.streams else None, []).append(record)
        insert_samples(samples)
        for source, records in events.items():
            store_events(self._any_stream(source), records)

    def _numbered(self, source: str | None) -> SampleRows:
        rows = self._rows.get(source)
        if rows is None:
            rows = self._rows[source] = SampleRows(self._stream(source).pk, 1)
        return rows

    def _any_stream(self, source: str | None) -> LogStream:
        return self.streams.get(source) or next(iter(self.streams.values()))

    def _finish(self) -> None:
        if self._writer is None:
            return
        self._writer.finish()
        for source, stream in self.streams.items():
            rows = self._rows.get(source)
            damaged = EventRow.objects.filter(stream=stream, kind="damaged").count()
            values = {**as_stored(self._writer.stream), "damaged": damaged}
            values["next_seq"] = rows.seq if rows else 1
            for name, value in values.items():
                setattr(stream, name, value)
            stream.save(update_fields=[*values])

    def hand_over(self, attempt: Attempt, source: str | None, lines: tuple[int, int]) -> LogStream:
        """Give a launch its lines: the whole stream, if nothing of it is left for another.

        Launches are given theirs from the last one backwards, so that numbers need one shift.
        """
        stream = self.streams.get(source) or self._any_stream(source)
        begin = lines[0]
        own = SampleRow.objects.filter(stream=stream, line__gte=begin)
        events = EventRow.objects.filter(stream=stream, line__gte=begin)
        before = SampleRow.objects.filter(stream=stream, line__lt=begin).count()
        if begin <= 1:
            stream.attempt = attempt
            stream.save(update_fields=["attempt"])
            events.update(attempt=attempt, run_id=attempt.run_id)
            return stream
        moved = LogStream.objects.create(
            attempt=attempt,
            role=stream.role,
            part=stream.part,
            path=stream.path,
            parser_version=stream.parser_version,
            text_of=stream.text_of or stream,
            next_seq=stream.next_seq - before,
            damaged=events.filter(kind="damaged").count(),
            **as_stored(stream),
        )
        own.update(stream=moved, seq=F("seq") - before)
        events.update(stream=moved, attempt=attempt, run_id=attempt.run_id)
        stream.next_seq, stream.damaged = before + 1, stream.damaged - moved.damaged
        stream.save(update_fields=["next_seq", "damaged"])
        return moved
