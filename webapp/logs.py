"""What may not stand in a log: whoever reads it could sign in, or open what was shared."""

from __future__ import annotations

import logging
import re

_TOKENS = re.compile(r"(/(?:s|sign-in)/)[^/\s?\"]+")


class HideTokens(logging.Filter):
    """Writes ``***`` for the token in the address of a sign-in or share link."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        hidden = _TOKENS.sub(r"\1***", said)
        if hidden != said:
            record.msg, record.args = hidden, ()
        return True
