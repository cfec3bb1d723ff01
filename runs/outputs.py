"""What a load tool printed and wrote at one level, out of the stored output of the driver."""

from __future__ import annotations

from runs.drivers.tool import tool_output
from runs.models import Level, LogStream
from runs.models.sample import BEGUN, ENDED

MOST = 2 * 1024 * 1024  # characters on a page; what lies before them stands in the stored log


def output_text(stream: LogStream, level: Level, *, result: bool) -> str:
    """For people: a progress bar's states each on a line of its own, and words for nothing."""
    begin, end = level.summary.get(BEGUN, 0), level.summary.get(ENDED, stream.position)
    told = tool_output(stream.text(begin, end), level.index)
    text = (told.result if result else told.printed).decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return "The tool wrote no result file.\n" if result else "The tool printed nothing.\n"
    notes = []
    if told.skipped and not result:
        notes.append(f"{told.skipped:,} bytes in the middle were not kept.")
    if len(text) > MOST:
        notes.append(f"Only the last {MOST:,} of {len(text):,} characters are shown.")
        text = text[-MOST:]
    return "".join(f"[{note}]\n" for note in notes) + text
