"""The words of a command line that somebody pasted."""

import re
import shlex

_LIMIT = 20_000
# Where a path begins with a drive, a backslash parts folders; before a quote it stays what it is.
_DRIVE = re.compile(r"(?<![A-Za-z])[A-Za-z]:\\\w")
_FOLDER = re.compile(r"\\(?=[\w.~-])")


def shell_words(text: str) -> list[str]:
    """Split as a shell would; what it would refuse (an open quote) is split at blanks."""
    text = text[:_LIMIT]
    if _DRIVE.search(text):
        text = _FOLDER.sub(r"\\\\", text)
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.replace('"', " ").replace("'", " ").split()
