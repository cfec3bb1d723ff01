"""Of several DP ranks the log tells of one."""

from runs.caveats.base import Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire when the server has DP ranks and the lines are of a single one."""
    size, ranks = facts.dp_size, facts.dp_ranks
    if size is None or size < 2 or len(ranks) != 1:
        return None
    text = (
        f"The server has {size} DP ranks, and the log's lines are of DP{ranks[0]} alone: its "
        f"throughput and running requests are about one {size}th of the server's."
    )
    return Finding("per-rank-throughput", text, {"dp_size": size, "dp_ranks": [*ranks]})


RULE: Rule[Facts] = Rule("per-rank-throughput", "block", find)
