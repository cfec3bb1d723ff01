"""The gap between chunks was taken for the time between tokens."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

MIN_RATIO = 1.3


def find(paste: Paste) -> Finding | None:
    """Fire when the mean ITL is well above the mean TPOT: a chunk holds several tokens."""
    for row in paste.rows:
        gap, token = row.value("itl_mean"), row.value("tpot_mean")
        if gap and token and gap >= MIN_RATIO * token:
            text = (
                f"ITL is {gap / token:.2f} times TPOT: the tool measures gaps between chunks, and "
                "a chunk "
                "holds as many tokens as were accepted. Compare TPOT."
            )
            return Finding("chunk-counted-itl", text, {"itl_over_tpot": round(gap / token, 3)})
    return None
