"""Where a line came from, and what is left of it when its carrier is taken off."""

from typing import NamedTuple


class Origin(NamedTuple):
    """Who printed the line, as far as its carrier says; all None in plain text.

    `source` is what a person calls it: pod, service, host or file. `ident` and `pid` are the
    journal's, `life` is systemd's invocation of the unit.
    """

    source: str | None
    host: str | None
    ident: str | None
    pid: int | None
    life: str | None
    carrier: str | None

    @property
    def stream(self) -> tuple[str | None, str | None]:
        """One writer, whatever its process number: lives of one server share it."""
        return self.source, self.ident


class Carried(NamedTuple):
    """What the program printed. `time` is the carrier's own stamp, in ISO form.

    A stamp without a year is 'MM-DDTHH:MM:SS'; with a zone it ends in 'Z' or '+HH:MM'. `fault` says
    why there is no message although there was a record.
    """

    message: bytes
    origin: Origin
    time: str | None
    fault: str | None


PLAIN = Origin(None, None, None, None, None, None)
