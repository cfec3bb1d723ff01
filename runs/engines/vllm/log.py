"""One line of a vLLM log to its records."""

from runs.engines.base import Record
from runs.engines.vllm.events import HINTS, NEEDLES, read_event
from runs.engines.vllm.heads import HEAD, OWN_PROCESS, pieces
from runs.engines.vllm.lines import read_stats

__all__ = ["HINTS", "NEEDLES", "is_vllm", "read_line"]


def is_vllm(text: str) -> bool:
    """Tell a line by vLLM's own head, or by words that nothing else prints."""
    own = HEAD.search(text) or OWN_PROCESS.match(text)
    return own is not None or "SpecDecoding metrics: " in text


def read_line(text: str, offset: int, line: int, terminated: bool = True) -> list[Record]:
    """Read a line without its newline; of an unterminated one the last open value is unknown."""
    records: list[Record] = []
    for piece in pieces(text):
        record: Record | None
        record = read_stats(piece, offset=offset, line=line, terminated=terminated)
        if record is None and (terminated or not piece.last):
            record = read_event(piece, offset=offset, line=line)
        if record is not None:
            records.append(record)
    return records
