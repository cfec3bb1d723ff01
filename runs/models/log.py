"""A log as it stands on the node, stored exactly once."""

from __future__ import annotations

import zstandard
from django.db import models

from runs.models.attempt import Attempt


class LogStream(models.Model):
    """How far a file of an attempt has been read.

    ``position`` counts the bytes received and stored; it moves only in the transaction that stores
    them, and only from the value the writer saw (compare and swap). It stands behind a line end
    (or at the end of the file): a half line is read again rather than remembered.
    """

    class Role(models.TextChoices):
        SERVER = "server", "server log"
        LOAD = "load", "load driver"
        GPU = "gpu", "GPU samples"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="streams")
    role = models.CharField(max_length=10, choices=Role)
    part = models.PositiveIntegerField(default=0)  # which text of an import this is
    path = models.CharField(max_length=200)
    position = models.BigIntegerField(default=0)
    lines = models.BigIntegerField(default=0)
    read_at = models.DateTimeField(null=True)  # when its latest bytes came from the node
    sha256 = models.CharField(max_length=64, blank=True)  # of the bytes received; "" if not known
    # [start, end, SHA-256] of the received bytes, one for each recorder that stored some of them
    hashed = models.JSONField(default=list)
    next_seq = models.BigIntegerField(default=1)  # number of the next sample of this stream
    damaged = models.PositiveIntegerField(default=0)
    redacted = models.PositiveIntegerField(default=0)
    complete = models.BooleanField(default=False)  # read to the end, equal to the node's
    dropped = models.JSONField(
        null=True
    )  # [start, end) whose text is kept no more: it was too long
    parser_version = models.PositiveIntegerField(default=0)  # that its samples were read with
    # several launches may stand in one imported text: it is stored once, with the first of them
    text_of = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "role", "part"], name="runs_logstream_part")
        ]

    def __str__(self) -> str:
        return f"{self.role} log of {self.attempt}"

    # Bytes of one log whose text is kept, half of it from its beginning and half from its end.
    # Whoever follows a log has read it before the node drops its middle, so the node's limit
    # alone bounds nothing here.
    TEXT_LIMIT = 1 << 30

    def text(self, start: int = 0, end: int | None = None) -> bytes:
        """The stored bytes in [start, end); spaces where they were dropped."""
        end = self.position if end is None else end
        holder = self.text_of_id or self.pk
        chunks = LogChunk.objects.filter(
            stream=holder, offset__lt=end, offset__gt=start - LogChunk.LIMIT
        )
        pieces, at = [], start
        for chunk in chunks.order_by("offset"):
            data = chunk.bytes()[max(0, start - chunk.offset) : end - chunk.offset]
            pieces += [b" " * (chunk.offset - at), data]
            at = max(at, chunk.offset) + len(data)
        if self.dropped:
            pieces.append(b" " * (min(end, self.dropped[1]) - at))
        return b"".join(pieces)

    def drop_middle(self, position: int) -> bool:
        """Give up the text between head and tail if it is too long; whether it is the first time.

        In steps of an eighth, so that not every piece of a growing log costs a deletion.
        Positions, hashes, samples and events stay what they are.
        """
        half = self.TEXT_LIMIT // 2
        begun = self.dropped[1] if self.dropped else half
        if position - half < begun + self.TEXT_LIMIT // 8:
            return False
        upto = position - half - LogChunk.LIMIT
        middle = self.chunks.filter(offset__gte=begun, offset__lt=upto).order_by("offset")
        pieces = list(middle.values_list("offset", "length"))
        if not pieces:
            return False
        middle.delete()
        start = self.dropped[0] if self.dropped else pieces[0][0]
        LogStream.objects.filter(pk=self.pk).update(dropped=[start, sum(pieces[-1])])
        return self.dropped is None


class LogChunk(models.Model):
    """A piece of a log, compressed. Redacted before it came here, at the same length."""

    LIMIT = 256 * 1024  # no chunk is longer, so a range needs only neighbours

    stream = models.ForeignKey(LogStream, on_delete=models.CASCADE, related_name="chunks")
    offset = models.BigIntegerField()
    length = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["stream", "offset"], name="runs_logchunk_offset")
        ]

    def __str__(self) -> str:
        return f"{self.length} bytes at {self.offset}"

    @classmethod
    def of(cls, stream: LogStream, offset: int, data: bytes) -> LogChunk:
        packed = zstandard.ZstdCompressor(level=3).compress(data)
        return cls(stream=stream, offset=offset, length=len(data), data=packed)

    def bytes(self) -> bytes:
        return zstandard.ZstdDecompressor().decompress(bytes(self.data), max_output_size=self.LIMIT)
