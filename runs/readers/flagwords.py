"""Flags out of the words of a command that somebody typed, for whatever engine."""

import re
from collections.abc import Sequence

from runs.engines.sglang.flags import ALIASES, SECRET_FLAGS, FlagError, Flags
from runs.engines.sglang.launch import from_tokens
from runs.readers.words import ends_command

_SHORT = {
    "-tp": "--tp",
    "-dp": "--dp",
    "-pp": "--pp",
    "-sc": "--speculative-config",
    "-m": "--model-path",
    "-hf": "--model-path",
    "--hf-repo": "--model-path",
}
_LONG_FLAG = re.compile(r"--[A-Za-z][\w.-]{0,100}(?:=|\Z)")
_SHORT_FLAG = re.compile(r"-[A-Za-z][A-Za-z0-9]{0,20}")


def loose_flags(words: Sequence[str]) -> Flags | None:
    """Read flags as somebody typed them; those that are wrong for the engine are kept as text."""
    given = [_SHORT.get(word, word) for word in words]
    words = _of_one_command(given)
    ended = len(words) < len(given)
    try:
        short = any(_SHORT_FLAG.fullmatch(word) for word in words)
        return (_as_written(words, ended=ended) if short else from_tokens(words)) or None
    except (FlagError, ValueError):
        return _as_written(words, ended=ended) or None


def _of_one_command(words: Sequence[str]) -> list[str]:
    """Give the words before a pipe, a redirection or the next command."""
    for index, word in enumerate(words):
        if ends_command(word):
            return [*words[:index]]
        if word.endswith(";") and not word.startswith("{"):
            return [*words[:index], word[:-1]]
    return [*words]


def _as_written(words: Sequence[str], *, ended: bool) -> Flags:
    """Keep flags as text. Of one that is given twice the last counts, as for the engines.

    Behind the last flag prose may follow its value, unless the command `ended` there.
    """
    flags: Flags = {}
    current: str | None = None
    values: list[str] = []
    for word in [*words, "--"] if ended else words:
        if word.startswith("--") or _SHORT_FLAG.fullmatch(word):
            if current is not None and len(values) > 1:
                flags[current] = values
            flag, equals, value = word.partition("=")
            current, values = ALIASES.get(flag, flag), [value] if equals else []
            if flag in SECRET_FLAGS or not (_LONG_FLAG.match(word) or _SHORT_FLAG.match(word)):
                current = None
            else:
                flags[current] = number_or_text(value) if equals else True
        elif current is not None:
            values.append(word)
            if len(values) == 1:
                flags[current] = number_or_text(word)
    return flags


def number_or_text(value: str) -> int | str:
    """Give a whole number as one, anything else as it is written."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value


def dashed(word: str) -> str:
    """Spell a flag as vLLM does, which takes '_' in it for '-'."""
    name = re.match(r"--[a-z0-9_-]{1,100}", word)
    return name[0].replace("_", "-") + word[name.end() :] if name else word
