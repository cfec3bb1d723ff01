"""Decode steps that ran without a captured graph."""

from runs.caveats.base import Facts, Finding
from runs.metrics.format import share

# One line in a long run may be a batch just above the largest captured size.
MIN_SHARE = 0.05


def find(facts: Facts) -> Finding | None:
    """Fire when more than a twentieth of the lines that tell it say False."""
    told, off = facts.lines_graph_told, facts.lines_graph_off
    if not told or off <= MIN_SHARE * told:
        return None
    text = (
        f"{share(off / told)} of the decode lines ran without a captured graph: each step pays for "
        "its launches one by one, most of all at low concurrency."
    )
    return Finding("cuda-graph-off", text, {"lines_told": told, "lines_off": off})
