"""Taking carriers off, one inside the other, for the lines of one text."""

import re

from runs.readers.carriers import containers, journal, signs
from runs.readers.carriers.base import PLAIN, Carried, Origin
from runs.readers.carriers.jsonline import read_json_line

# Compose around kubectl around the journal around JSON: nobody nests deeper.
_DEPTH = 6
_MANY = 10_000
# 'Nov 29 16:01:02' of the journal's short form.
_STAMP_LENGTH = 15
_PART_LIMIT = 64 * 1024
_INDENT = re.compile(rb"    |\t")


class Carriers:
    """Remembers what a text says once for many lines: service names, the file that is tailed."""

    def __init__(self) -> None:
        self._services: set[bytes] = set()
        self._origins: dict[Origin, Origin] = {}
        self._file: str | None = None
        self._parts: dict[str, bytes] = {}
        self._heads: dict[bytes, Origin] = {}
        self._stamp: tuple[bytes, str | None] = (b"", None)
        self._blank = True
        self._indented = False

    def unwrap(self, raw: bytes) -> Carried:
        """Take everything off the line that is not its program's."""
        if raw[-1:] == b"\r":
            raw = raw.rstrip(b"\r")  # the end of a Windows line
        bracket = raw.find(b"[", 1 if raw[:3] == b"[20" else 0)
        if bracket >= 0 and raw[:1] != b"{" and signs.has_written_escapes(raw, bracket):
            raw = signs.without_escapes(raw)  # inside of JSON they are taken off later
        if raw[:3] == b"[20" and self._file is None and raw.isascii() and b"\x1b" not in raw:
            self._blank = False
            return Carried(raw, PLAIN, None, None)  # an engine's own stamp: nearly every line
        return self._known(raw) or self._unwrapped(raw)

    def _known(self, raw: bytes) -> Carried | None:
        """Take the journal's head off by its length alone, if the same writer had it before."""
        end = raw.find(b"]: [20", _STAMP_LENGTH, 400)
        if end < 0 or self._file is not None:
            return None
        origin = self._heads.get(raw[_STAMP_LENGTH:end])
        if origin is None:
            return self._learnt(raw, end)
        stamp, time = self._stamp
        if raw[:_STAMP_LENGTH] != stamp or not raw.isascii() or b"\x1b" in raw:
            return self._learnt(raw, end)
        return Carried(raw[end + 3 :], origin, time, None)

    def _learnt(self, raw: bytes, end: int) -> Carried | None:
        """Read the head the long way, and keep writer and second for the lines that follow."""
        if not raw.isascii() or b"\x1b" in raw:
            return None
        head = journal.journal_head(raw)
        if head is None or head.end != end + 3 or raw[_STAMP_LENGTH : _STAMP_LENGTH + 1] != b" ":
            return None
        found = self._journal(Carried(raw, PLAIN, None, None))
        if found is None:
            return None
        if len(self._heads) > _MANY:
            self._heads.clear()
        self._heads[raw[_STAMP_LENGTH:end]] = found.origin
        self._stamp = (raw[:_STAMP_LENGTH], found.time)
        return found

    def _unwrapped(self, raw: bytes) -> Carried:
        raw = self._cleaned(raw)
        found = Carried(raw, PLAIN, None, None)
        for _ in range(_DEPTH):
            inner = self._step(found)
            if inner is None:
                break
            found = inner
        if self._file is not None and found.origin is PLAIN:
            return found._replace(origin=self._origin(source=self._file, carrier="tail"))
        return found

    def _cleaned(self, raw: bytes) -> bytes:
        if b"\x1b" in raw:
            raw = signs.without_escapes(raw)
        if raw.lstrip()[:1] in (b">", b"&"):
            raw = signs.without_quotes(raw)
        if b"```" in raw:
            raw = signs.without_fences(raw)
        if not raw.isascii() or b"&" in raw:
            raw = signs.with_plain_signs(raw)
        raw = self._unindented(raw)
        header = containers.TAIL.match(raw)
        if header:
            self._file = header[1].decode("utf-8", "replace")
            return b""
        return raw

    def _unindented(self, raw: bytes) -> bytes:
        """Take off the four blanks of Markdown's code: a block of them follows a blank line."""
        if raw[:1] not in (b" ", b"\t"):
            self._indented, self._blank = False, not raw
            return raw
        if not raw.strip():
            self._blank = True
            return raw
        code = _INDENT.match(raw)
        if self._blank:
            self._indented = code is not None and raw[code.end() : code.end() + 1] not in b" \t"
        self._blank = False
        if code is None:
            self._indented = False
        return raw[code.end() :] if code is not None and self._indented else raw

    def _step(self, found: Carried) -> Carried | None:
        """Take off the outermost carrier, None when there is none."""
        message = found.message
        first = message[:1]
        if first == b"{":
            return self._json(found)
        if first == b"[" and message[1:3] != b"20":
            return self._bracketed(found)
        if first == b"(":
            return self._actor(found)
        if first.isalnum() or first == b"<":
            return self._journal(found) or self._stamped(found) or self._service(found)
        return None

    def _bracketed(self, found: Carried) -> Carried | None:
        message = found.message
        pod = containers.KUBECTL.match(message)
        if pod:
            name = pod[1].decode("ascii")
            return self._inner(found, pod.end(), source=name, carrier="kubectl")
        service = containers.PODMAN.match(message)
        if service:
            name = service[1].decode("ascii")
            return self._inner(found, service.end(), source=name, carrier="compose")
        return self._journal(found)

    def _journal(self, found: Carried) -> Carried | None:
        head = journal.journal_head(found.message)
        if head is None:
            return None
        origin = self._origin(
            source=found.origin.source or head.host,
            host=head.host,
            ident=head.ident,
            pid=head.pid,
            carrier="journal",
        )
        return Carried(found.message[head.end :], origin, head.time, None)

    def _actor(self, found: Carried) -> Carried | None:
        actor = containers.RAY.match(found.message)
        if actor is None:
            return None
        origin = self._origin(
            source=found.origin.source,
            host=actor[3].decode("ascii") if actor[3] else found.origin.host,
            ident=actor[1].decode("ascii"),
            pid=int(actor[2]),
            carrier="ray",
        )
        return Carried(found.message[actor.end() :], origin, found.time, None)

    def _stamped(self, found: Carried) -> Carried | None:
        stamp = containers.RFC3339.match(found.message)
        if stamp is None:
            return None
        rest = found.message[stamp.end() :]
        time = journal.stamp_with_zone(stamp[1], stamp[2])
        part = containers.CRI.match(rest)
        if part is None:
            origin = found.origin
            if origin is PLAIN:
                origin = self._origin(source=None, carrier="stamp")
            return Carried(rest, origin, time, None)
        key = part[1].decode("ascii")
        message = self._joined(key, rest[part.end() :], more=part[2] == b"P")
        return Carried(message, self._origin(source=None, carrier="cri"), time, None)

    def _service(self, found: Carried) -> Carried | None:
        message = found.message
        named = containers.ATTACHING.match(message)
        if named:
            self._services |= set(named[1].split(b", "))
            return None
        match = containers.COMPOSE.match(message)
        if match is None:
            return None
        name, rest = match[1], message[match.end() :]
        if name not in self._services:
            if not containers.is_service(name, rest):
                return None
            self._services.add(name)
        return self._inner(found, match.end(), source=name.decode("ascii"), carrier="compose")

    def _json(self, found: Carried) -> Carried | None:
        told = read_json_line(found.message)
        if told is None:
            return None
        message, origin = told.message, told.origin
        if origin.carrier == "docker":
            message = self._joined("docker", message.rstrip(b"\r\n"), more=b"\n" not in message)
        origin = origin._replace(source=found.origin.source or origin.source)
        return told._replace(message=signs.without_escapes(message), origin=self._kept(origin))

    def _joined(self, key: str, part: bytes, *, more: bool) -> bytes:
        """Put the parts of a long line together; until the last one came there is no message."""
        whole = (self._parts.pop(key, b"") + part)[:_PART_LIMIT]
        if more:
            self._parts[key] = whole
            return b""
        return whole

    def _inner(self, found: Carried, end: int, *, source: str, carrier: str) -> Carried:
        origin = self._origin(source=source, carrier=carrier)
        return Carried(found.message[end:], origin, found.time, None)

    def _origin(
        self,
        *,
        source: str | None,
        carrier: str,
        host: str | None = None,
        ident: str | None = None,
        pid: int | None = None,
    ) -> Origin:
        return self._kept(Origin(source, host, ident, pid, None, carrier))

    def _kept(self, origin: Origin) -> Origin:
        """Give one object for equal origins: a million lines come from a handful of writers."""
        if len(self._origins) > _MANY:
            self._origins.clear()
        return self._origins.setdefault(origin, origin)
