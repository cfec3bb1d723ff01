"""The server may run fewer requests than the client offered."""

from collections.abc import Iterator

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real
from runs.engines.base import JSON

_UNLIMITED = ("inf", "Infinity", float("inf"))


def find(paste: Paste) -> Finding | None:
    """Fire when the effective limit is below an offered concurrency."""
    for limit, offered in _pairs(paste):
        if offered > limit:
            text = (
                f"The server runs at most {limit:.0f} requests and {offered:.0f} were offered: the "
                "queue is measured along with the engine."
            )
            evidence: dict[str, JSON] = {
                "max_running_requests": int(limit),
                "levels": [int(offered)],
            }
            return Finding("running-capped", text, evidence)
    return None


def _pairs(paste: Paste) -> Iterator[tuple[float, float]]:
    """Give each limit with what was offered to it: by a result, by a command, in the log."""
    told = _of_all_ranks(paste)
    for row in paste.rows:
        limit = real(row.context.get("max_running_requests", told))
        offered = real(row.concurrency)
        if offered is None and paste.setting(row, "request_rate") in _UNLIMITED:
            offered = row.concurrency_measured
        if limit is not None and offered is not None:
            yield limit, offered
    asked = real(paste.context.get("max_concurrency"))  # of a client that printed no result
    if told is not None and asked is not None:
        yield told, asked
    yield from _waiting_at_the_limit(paste)


def _of_all_ranks(paste: Paste) -> float | None:
    """Give the limit of the whole server: SGLang's capacity line tells that of one DP rank."""
    limit = real(paste.context.get("max_running_requests"))
    ranks = real(paste.context.get("dp")) or 1
    by_rank = any(
        each.kind == "capacity" and "max_running_requests" in each.data for each in paste.events
    )
    return limit * ranks if limit is not None and by_rank else limit


def _waiting_at_the_limit(paste: Paste) -> Iterator[tuple[float, float]]:
    """Give what ran and waited together in lines in which as many ran as may."""
    for part, lines in paste.by_part():
        settings = part.settings if part is not None and len(paste.parts) > 1 else paste.context
        limit = real(settings.get("max_running_requests"))
        for line in lines if limit else ():
            full = line.running and line.running >= (limit or 0)
            if full and line.waiting and line.phase != "prefill":
                yield limit or 0, (line.running or 0) + line.waiting
