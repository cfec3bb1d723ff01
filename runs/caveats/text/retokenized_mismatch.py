"""The text that came back holds other tokens than were counted."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

MAX_SHARE = 0.1


def find(paste: Paste) -> Finding | None:
    """Fire when generated and retokenized counts differ by more than a tenth."""
    for row in paste.rows:
        told, again = row.value("output_tokens"), row.value("output_tokens_retokenized")
        if told and again is not None and abs(again - told) > MAX_SHARE * told:
            text = (
                f"{told:.0f} tokens were generated and {again:.0f} came back as text: a parser "
                "held "
                "text back, so latencies of chunks mean nothing here. Throughput by usage is right."
            )
            return Finding(
                "retokenized-mismatch", text, {"retokenized_share": round(again / told, 4)}
            )
    return None
