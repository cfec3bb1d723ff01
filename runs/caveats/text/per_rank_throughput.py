"""Each DP rank prints its own throughput."""

import re

from runs.caveats.base import Finding
from runs.caveats.text.paste import LONE_ENGINE, Paste, dp_rank
from runs.engines.base import JSON

_ENGINE = re.compile(r"Engine [0-9]{1,6}\Z")


def find(paste: Paste) -> Finding | None:
    """Fire on decode lines with a DP rank, or without one where the server has several.

    An engine of vLLM is a DP rank; a lone one is numbered 0, too.
    """
    ranks = {dp_rank(each) for each in paste.decodes} - {None}
    if not ranks:
        return _engines(paste) or _untold(paste)
    text = (
        f"The lines are of {len(ranks)} DP rank{'' if len(ranks) == 1 else 's'}: each throughput "
        "is that "
        "rank's alone. The server's is the sum over DP ranks, never over TP, EP or PP."
    )
    evidence: dict[str, JSON] = {"dp_ranks": [*sorted(rank for rank in ranks if rank is not None)]}
    return Finding("per-rank-throughput", text, evidence)


def _engines(paste: Paste) -> Finding | None:
    engines = {each.rank for each in paste.intervals if each.rank and _ENGINE.match(each.rank)}
    several = paste.context.get("dp")
    alone = not isinstance(several, int) or several < 2
    if not engines or (engines == {LONE_ENGINE} and alone):
        return None
    named: list[JSON] = [*sorted(engines)]
    text = (
        f"The lines are of {len(engines)} engine{'' if len(engines) == 1 else 's'}, each a DP rank "
        "with a throughput of its own. The server's is the sum over its engines."
    )
    return Finding("per-rank-throughput", text, {"engines": named})


def _untold(paste: Paste) -> Finding | None:
    several = paste.context.get("dp")
    if not paste.decodes or not isinstance(several, int) or several < 2:
        return None
    text = (
        f"The server has {several} DP ranks, and the lines do not tell theirs: each throughput is "
        "that of one rank, not the server's."
    )
    return Finding("per-rank-throughput", text, {"dp": several})
