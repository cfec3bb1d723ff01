"""What arms are called: by the text's own words, else by its file, its speculation, its place."""

import re
from collections.abc import Iterable

# Parts of a file's name that say what kind of file it is, and not which arm.
_KIND = frozenset(
    "server bench client log logs result results journal output out stdout stderr load serving "
    "txt json jsonl csv tsv md gz zip benchmark".split()
)
_LEVEL = re.compile(r"(?i)(?:c|cc|n|conc|concurrency|clients|bs)?=?[0-9]{1,5}")
_COMMAND = re.compile(r"sglang|vllm|python|docker|\bserve\b")
LIMIT = 110  # a suffix still has to fit into the column


def stem(file: str) -> str:
    """Give what a file's name says of the arm: 'steps-3' for 'steps-3.bench_c16.txt'."""
    words = re.split(r"[_ ]+|\.(?![0-9])", file.rpartition("/")[2])
    return "_".join(w for w in words if w.lower() not in _KIND and not _LEVEL.fullmatch(w))


def heading(label: str | None) -> str:
    """Give a heading's words before its flags; a launch command is no name."""
    words = (label or "").split(" --")[0].rstrip(" :,;-").strip()
    return "" if is_command(words) else words[:LIMIT]


def is_command(words: str) -> bool:
    return _COMMAND.search(words) is not None


def suggested(engine: str, model: str, version: str, steps: str) -> str:
    """Name an arm that nobody named by what is known of its server; empty if that is nothing."""
    told = [model.rstrip("/").rpartition("/")[2], " ".join([engine, version]).strip(), steps]
    return ", ".join(word for word in told if word)[:LIMIT]


def unique(name: str, taken: Iterable[str]) -> str:
    """Number a name that is taken."""
    name, used = name[:LIMIT], set(taken)
    found, n = name, 2
    while found in used:
        found, n = f"{name} ({n})", n + 1
    return found
