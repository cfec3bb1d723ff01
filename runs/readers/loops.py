"""Text that repeats itself: a few words, again and again, to the end of what was shown."""

import re

# So many words in a row, so often, is no emphasis and no table.
_MIN_TIMES = 6
_MIN_LETTERS = 24
_LONGEST_PERIOD = 24
_MANY_WORDS = 4000
_MANY_SIGNS = 4000
# In scripts without blanks a loop is one long word: the same few letters, ten times and more.
# Their punctuation may stand in it.
_SYLLABLES = re.compile(
    r"((?:[^\W\d_]|[,.!?;\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]){1,16}?)\1{9,}"
)
_WORD = re.compile(r"[^\W\d_]{1,40}")


def looping(text: str) -> str | None:
    """Give the words that repeat at least six times running, None when none do.

    Time grows with the length of the text, not faster: each period is tried once over all words.
    """
    if len(text) < _MIN_LETTERS * 2:
        return None
    for written in _SYLLABLES.finditer(text[:_MANY_SIGNS]):
        if any(sign.isalpha() and not sign.isascii() for sign in written[1]):
            return written[1]
        if len(written[1]) > 1 and written[1].isalpha():
            return written[1]
    words = text.split(None, _MANY_WORDS)[:_MANY_WORDS]
    for period in range(1, min(_LONGEST_PERIOD, len(words) // _MIN_TIMES) + 1):
        run = 0
        for index in range(period, len(words)):
            run = run + 1 if words[index] == words[index - period] else 0
            if run >= period * (_MIN_TIMES - 1):
                found = words[index - period + 1 : index + 1]
                if _says_something(found):
                    return " ".join(found)
    return None


def _says_something(words: list[str]) -> bool:
    """Tell words from rulers, table borders and numbers."""
    letters = sum(len(word) for word in words if _WORD.fullmatch(word.strip(".,;:!?\"'()")))
    return letters >= 2 and letters * _MIN_TIMES >= _MIN_LETTERS // 2
