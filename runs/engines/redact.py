"""Replace secrets by filler of the same length, so that every byte position stays true."""

import re

FILLER = b"*"

# Each pattern names the secret itself in group "s". A value ends at quotes, commas, brackets and
# blanks. What is None, too short or filler already is not a secret. A quotation mark may be
# escaped: a result file stands as a text inside of the load driver's JSON.
_QUOTE = rb"(?:\\{0,3}['\"])?"
_BYTE = rb"(?:[^\s'\",;)}\]&\\]|\\(?!['\"]))"
_VALUE = rb"(?!None\b|null\b|True\b|False\b)(?P<s>(?!\*)" + _BYTE + rb"{3,})"
_NAMES = (
    rb"(?:[a-z_-]{0,40}(?:api[_-]?key|password|secret[_-]key|secret[_-]access[_-]key|"
    rb"auth[_-]?token|access[_-]?token|hf[_-]?token|hub[_-]?token))"
)
_NAME = rb"(?i:" + _NAMES + rb")" + _QUOTE
_PATTERNS = (
    re.compile(rb"(?<![a-z0-9])" + _NAME + rb"\s{0,4}[=:]\s{0,4}" + _QUOTE + _VALUE),
    re.compile(rb"--(?i:" + _NAMES + rb")\s{1,4}" + _QUOTE + _VALUE),
    re.compile(rb"\b(?i:bearer)\s{1,4}(?P<s>[A-Za-z0-9._~+/=-]{6,})"),
    re.compile(rb"(?<![A-Za-z0-9])(?P<s>hf_[A-Za-z0-9]{10,})"),
    re.compile(rb"(?<![A-Za-z0-9])(?P<s>sk-[A-Za-z0-9_-]{10,})"),
    re.compile(rb"://[^\s/:@'\"]{1,64}:(?P<s>[^\s/@'\"*][^\s/@'\"]{0,128})@"),
)
# Cheap test before the patterns: each needs one of these, in small letters. A batch line has none,
# though it is full of tokens; single searches are ten times as fast as one pattern of them all.
_HINTS = (
    *(b"api_key", b"api-key", b"apikey", b"password", b"secret", b"auth_token", b"auth-token"),
    *(b"authtoken", b"access_token", b"access-token", b"accesstoken", b"hf_", b"hf-", b"hftoken"),
    *(b"hub_token", b"hub-token", b"hubtoken", b"bearer", b"sk-", b"://"),
)


def redact(data: bytes) -> tuple[bytes, int]:
    """Give the bytes with each secret overwritten by '*', and how many there were.

    The result has the length of the input and redacting it again changes nothing.
    """
    small = data.lower()
    if not any(hint in small for hint in _HINTS):
        return data, 0
    count = 0
    for pattern in _PATTERNS:
        data, found = pattern.subn(_filled, data)
        count += found
    return data, count


def redact_text(text: str) -> str:
    """Redact a text; its length in UTF-8 stays the same."""
    return redact(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace")


def _filled(match: re.Match[bytes]) -> bytes:
    whole, start = match.group(0), match.start()
    left, right = match.start("s") - start, match.end("s") - start
    return whole[:left] + FILLER * (right - left) + whole[right:]
