"""The words of a command line that somebody pasted."""

import shlex

_LIMIT = 20_000


def shell_words(text: str) -> list[str]:
    """Split as a shell would; what it would refuse (an open quote) is split at blanks."""
    text = text[:_LIMIT]
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.replace('"', " ").replace("'", " ").split()
