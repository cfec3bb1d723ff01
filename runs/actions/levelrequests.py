"""The single requests of a level, from the stored output of our driver."""

from __future__ import annotations

from runs.drivers.load_records import LoadReader, Request
from runs.models import Level, LogStream
from runs.models.sample import BEGUN


def requests_of(level: Level) -> list[Request]:
    """In the order in which they ended; none where the driver kept none."""
    stream = LogStream.objects.filter(attempt=level.attempt_id, role=LogStream.Role.LOAD).first()
    if stream is None:
        return []
    begun = level.summary.get(BEGUN, 0)
    begins = Level.objects.filter(attempt=level.attempt_id).values_list(
        f"summary__{BEGUN}", flat=True
    )
    following = [other for other in begins if other is not None and other > begun]
    records = LoadReader(begun).feed(stream.text(begun, min(following, default=stream.position)))
    return [each for each in records if isinstance(each, Request) and each.level == level.index]
