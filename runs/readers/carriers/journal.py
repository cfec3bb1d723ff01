"""The journal's forms that begin with a stamp: short, precise, iso, full, unix, monotonic."""

import re
from typing import NamedTuple

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_MONTH_NUMBERS = {name.encode(): f"{number:02}" for number, name in enumerate(_MONTHS, start=1)}
_STAMP = (
    rb"(?:(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (?P<day>[ 0-9][0-9]) "
    rb"(?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)"
    rb"|(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?)"
    rb"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})"
    rb"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}) "
    rb"(?P<full>[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?) (?P<name>[A-Z][A-Za-z0-9+-]{1,8})"
    rb"|(?P<unix>[0-9]{9,11}\.[0-9]{3,9})"
    rb"|\[ {0,8}(?P<mono>[0-9]{1,9}\.[0-9]{3,9})\])"
)
_LINE = re.compile(
    rb"(?:<[0-9]{1,3}>)?" + _STAMP + rb" (?P<host>[A-Za-z0-9._-]{1,255}) "
    rb"(?P<ident>[^\s\[\]:]{1,100})(?:\[(?P<pid>[0-9]{1,10})\])?: ?"
)


# Who writes into the journal under no process number.
_WITHOUT_PID = (b"kernel", b"systemd")


class JournalHead(NamedTuple):
    """The head of a journal line; `end` is where the message begins."""

    host: str
    ident: str
    pid: int | None
    time: str | None
    end: int


def journal_head(raw: bytes) -> JournalHead | None:
    """Read the head of a journal line, None when the line has none."""
    match = _LINE.match(raw)
    if match is None:
        return None
    pid = match["pid"]
    if pid is None and match["month"] is None and match["ident"] not in _WITHOUT_PID:
        return None  # a container's stamp, and the words before a colon
    return JournalHead(
        match["host"].decode("ascii"),
        match["ident"].decode("utf-8", "replace"),
        int(pid) if pid else None,
        _time(match),
        match.end(),
    )


def _time(match: re.Match[bytes]) -> str | None:
    """Give the stamp in ISO form, as far as it says one; zone names other than UTC are local."""
    if match["month"]:
        day = match["day"].decode("ascii").replace(" ", "0")
        return f"{_MONTH_NUMBERS[match['month']]}-{day}T{match['clock'].decode('ascii')}"
    if match["iso"]:
        return stamp_with_zone(match["iso"], match["zone"])
    if match["date"]:
        zone = "Z" if match["name"] in (b"UTC", b"GMT") else ""
        return f"{match['date'].decode('ascii')}T{match['full'].decode('ascii')}{zone}"
    return None


def stamp_with_zone(stamp: bytes, zone: bytes) -> str:
    """'2026-11-29T16:01:02' and '+0100' give '2026-11-29T16:01:02+01:00'."""
    text = zone.decode("ascii")
    if len(text) == 5:
        text = f"{text[:3]}:{text[3:]}"
    return stamp.decode("ascii").replace(",", ".") + text
