"""Decode steps that ran without a captured graph."""

from runs.caveats.base import Experiment, Facts, Finding, Rule
from runs.metrics.format import share

# One line in a long run may be a batch just above the largest captured size.
MIN_SHARE = 0.05


def find(facts: Facts) -> Finding | None:
    """Fire when more than a twentieth of the lines ran without, or above the largest graph."""
    above = facts.lines_above_graph
    if facts.graph_max is not None and facts.lines and above > MIN_SHARE * facts.lines:
        text = (
            f"{share(above / facts.lines)} of the decode lines ran more than {facts.graph_max} "
            "requests, the largest batch with a captured graph: those steps are launched one by "
            "one."
        )
        return Finding("cuda-graph-off", text, {"largest": facts.graph_max, "lines_above": above})
    told, off = facts.lines_graph_told, facts.lines_graph_off
    if not told or off <= MIN_SHARE * told:
        return None
    text = (
        f"{share(off / told)} of the decode lines ran without a captured graph: each step pays for "
        "its launches one by one, most of all at low concurrency."
    )
    return Finding("cuda-graph-off", text, {"lines_told": told, "lines_off": off})


RULE: Rule[Facts] = Rule(
    "cuda-graph-off",
    "warn",
    find,
    Experiment("with CUDA graphs", {"--disable-cuda-graph": None}, confirmed_by="better"),
)
