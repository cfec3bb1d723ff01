"""Signs around the letters: colours, screen control, quote marks, entities, odd blanks."""

import re

# CSI (colours, cursor), OSC (titles, links, clipboard) up to its end, and two-byte sequences.
_ESCAPES = re.compile(
    rb"\x1b\[[0-9;:?<=>]{0,40}[ -/]{0,4}[@-~]"
    rb"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\|\Z)"
    rb"|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\|\Z)"
    rb"|\x1b(?:[ -/][0-~]|[0-Z\\^_`a-z{|}~])?"
)
# The same written out, or without its first sign, as a copy from a page or a log service has it.
_WRITTEN = re.compile(
    rb"(?:\^\[|\\x1[bB]|\\u001[bB]|\\0?33|\\e|#033|\xef\xbf\xbd|\xe2\x90\x9b)\[[0-9;?]{0,20}[A-Za-z]"
    rb"|\[(?:0|[349][0-7]|10[0-7]|[0-9]{1,3}(?:;[0-9]{1,3}){1,5})m(?!\])"
    rb"|\[[13479]m(?![\] ])"  # not '[3m 20s]', a time
)
_MAY_BE_WRITTEN = re.compile(rb"\[[0-9;?]{0,20}[mKJH](?!\])")
_QUOTES = re.compile(rb"(?:[ \t]{0,3}(?:>|&gt;)[ \t]?){1,20}")
_ENTITIES = (
    (b"&gt;", b">"),
    (b"&lt;", b"<"),
    (b"&quot;", b'"'),
    (b"&#39;", b"'"),
    (b"&#x27;", b"'"),
    (b"&nbsp;", b" "),
    (b"&amp;", b"&"),
)
# No-break, narrow no-break and figure spaces, zero-width signs, the byte order mark.
_BLANKS = (b"\xc2\xa0", b"\xe2\x80\xaf", b"\xe2\x80\x87")
_NOTHINGS = (b"\xe2\x80\x8b", b"\xe2\x81\xa0", b"\xef\xbb\xbf")


# A fence alone or with a language's name is a line; three ticks glued to a text stand around it.
_FENCE = re.compile(rb"[ \t]{0,9}`{3,9}[ \t]{0,9}[\w+-]{0,20}[ \t`]{0,9}")
_GLUED = re.compile(rb"\A[ \t]{0,9}`{3,9}|(?<=[^`])`{3,9}[ \t]{0,9}\Z")


def without_escapes(raw: bytes) -> bytes:
    """Take off every escape sequence, whole or cut; also one whose first sign is lost or spelt."""
    if b"\x1b" in raw:
        raw = _ESCAPES.sub(b"", raw)
    return _WRITTEN.sub(b"", raw) if has_written_escapes(raw, 0) else raw


def has_written_escapes(raw: bytes, start: int) -> bool:
    """Tell cheaply whether there may be such a sequence that is not one in itself."""
    return _MAY_BE_WRITTEN.search(raw, start) is not None


def without_quotes(raw: bytes) -> bytes:
    """Take off the marks of a quoted reply: '> ', '>> ', '&gt; '."""
    match = _QUOTES.match(raw)
    return raw[match.end() :] if match else raw


def without_fences(raw: bytes) -> bytes:
    """Take off a code fence that begins or ends in the same line as the text."""
    return raw if _FENCE.fullmatch(raw) else _GLUED.sub(b"", raw)


def with_plain_signs(raw: bytes) -> bytes:
    """Write entities and odd blanks as what they stand for."""
    if b"&" in raw and b";" in raw:
        for entity, sign in _ENTITIES:
            raw = raw.replace(entity, sign)
    if b"\xc2" in raw or b"\xe2" in raw or b"\xef" in raw:
        for blank in _BLANKS:
            raw = raw.replace(blank, b" ")
        for nothing in _NOTHINGS:
            raw = raw.replace(nothing, b"")
    return raw


def last_state(raw: bytes) -> bytes:
    """Give what a progress bar showed last: the text after the last carriage return that has any.

    The end of a Windows line is no bar.
    """
    raw = raw.rstrip(b"\r")
    if b"\r" not in raw:
        return raw
    return next((part for part in reversed(raw.split(b"\r")) if part.strip()), b"")
