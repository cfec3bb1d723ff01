"""The words of a command line that somebody pasted."""

import re
import shlex
from collections.abc import Mapping

_LIMIT = 20_000
# Where a path begins with a drive, a backslash parts folders; before a quote it stays what it is.
_DRIVE = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\\w")
_FOLDER = re.compile(r"\\(?=[\w.~-])")
_SHELL_ENDS = ("|", "||", "&&", ";", "&")
_REDIRECTED = re.compile(r"(?:[0-9]|&)?(?:>>?|<<?)(?:\Z|[&/.\w$~])")


def shell_words(text: str) -> list[str]:
    """Split as a shell would; what it would refuse (an open quote) is split at blanks."""
    text = text[:_LIMIT]
    if _DRIVE.search(text):
        text = _FOLDER.sub(r"\\\\", text)
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.replace('"', " ").replace("'", " ").split()


def ends_command(word: str) -> bool:
    """Tell a pipe, a redirection or what parts two commands: no argument of the first."""
    return word in _SHELL_ENDS or _REDIRECTED.match(word) is not None


def by_beginning(beginning: str, names: Mapping[str, str]) -> str | None:
    """Give what all names with this beginning stand for, as argparse takes a flag; else None."""
    meant = {told for name, told in names.items() if name.startswith(beginning)}
    return meant.pop() if len(meant) == 1 else None


def names_one(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text."""
    # Ten times as fast as a pattern of alternatives, and every line of a log comes by here.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False
