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
    rb"(?:[a-z_-]{0,40}(?:api[_-]?key|passwd|password|passphrase|secret[_-]key|"
    rb"secret[_-]access[_-]key|client[_-]secret|auth[_-]?token|access[_-]?token|hf[_-]?token|"
    rb"hub[_-]?token))"
)
_NAME = rb"(?i:" + _NAMES + rb")" + _QUOTE
# A variable of the environment is written in capitals; small letters count tokens.
_VARIABLE_NAME = rb"[A-Z][A-Z0-9_]{0,40}_(?:TOKEN|PAT|PASS|PWD|SECRET|CREDENTIALS?)"
_VARIABLE = _VARIABLE_NAME + _QUOTE
_TO_NEXT_WORD = (
    rb"(?:\s{1,4}|['\"]?\s{0,4},\s{1,80}|['\"]?[ \t]{0,4}\r?\n[ \t]{0,60}-[ \t]{1,4}"
    rb"|[ \t]{1,8}[\\`^][ \t]{0,8}\r?\n[ \t]{0,60})(?!['\"]?--)"
)
_NAME_OR_VARIABLE = rb"(?:(?i:" + _NAMES + rb")|" + _VARIABLE_NAME + rb")"
# Between two quotation marks of one kind a secret may have blanks.
_TO_THE_QUOTE = rb"(?P<s>(?!\*)[^'\"\\\r\n]{4,200})(?P=q)"
_QUOTED = rb"(?P<q>['\"])" + _TO_THE_QUOTE
_SCHEME = rb"(?:basic|bearer|digest|token|apikey|negotiate)"
_AUTH = rb"(?i:authorization)" + _QUOTE + rb"\s{0,4}[=:]\s{0,4}" + _QUOTE
_NAME_HINTS = (
    *(b"api_key", b"api-key", b"apikey", b"pass", b"secret", b"auth", b"access_token", b"hf_"),
    *(b"access-token", b"accesstoken", b"hf-", b"hftoken", b"hub_token", b"hub-token", b"hubtoken"),
)
_VARIABLE_HINTS = (b"_TOKEN", b"_PA", b"_PWD", b"_SECRET", b"_CREDENTIAL")
# Each pattern with the cheap test before it: one of the hints must be there, those in capitals as
# they are. A batch line has none, though it is full of tokens; searches of words are ten times as
# fast.
_RULES: tuple[tuple[re.Pattern[bytes], tuple[bytes, ...]], ...] = (
    (
        re.compile(
            rb"(?:(?<![a-z0-9])"
            + _NAME
            + rb"\s{0,4}[=:]\s{0,4}|--(?i:"
            + _NAMES
            + rb")\s{1,4})"
            + _QUOTED
        ),
        _NAME_HINTS,
    ),
    (
        re.compile(rb"(?P<q>['\"])" + _NAME_OR_VARIABLE + rb"=" + _TO_THE_QUOTE),
        (*_NAME_HINTS, *_VARIABLE_HINTS),
    ),
    (
        re.compile(rb"(?<![A-Za-z0-9_])" + _VARIABLE + rb"\s{0,4}[=:]\s{0,4}" + _QUOTED),
        _VARIABLE_HINTS,
    ),
    (
        re.compile(rb"(?<![a-z0-9])" + _NAME + rb"\s{0,4}[=:]\s{0,4}" + _QUOTE + _VALUE),
        _NAME_HINTS,
    ),
    # In a list the value is the next word: '"--api-key", "…"', or an item in a line of its own.
    (re.compile(rb"--(?i:" + _NAMES + rb")" + _TO_NEXT_WORD + _QUOTE + _VALUE), _NAME_HINTS),
    # A manifest has a variable's name in one line and its value in the next.
    (
        re.compile(
            rb"\bname"
            + _QUOTE
            + rb":\s{0,4}"
            + _QUOTE
            + _NAME_OR_VARIABLE
            + _QUOTE
            + rb",?\s{1,80}"
            + _QUOTE
            + rb"value"
            + _QUOTE
            + rb":\s{0,4}"
            + _QUOTE
            + _VALUE
        ),
        (b"value",),
    ),
    (
        re.compile(rb"(?<![A-Za-z0-9_])" + _VARIABLE + rb"\s{0,4}[=:]\s{0,4}" + _QUOTE + _VALUE),
        _VARIABLE_HINTS,
    ),
    (re.compile(rb"\b(?i:bearer)\s{1,4}(?P<s>[A-Za-z0-9._~+/=-]{6,})"), (b"bearer",)),
    (
        re.compile(_AUTH + rb"(?i:" + _SCHEME + rb")\s{1,4}(?P<s>(?!\*)" + _BYTE + rb"{6,})"),
        (b"authorization",),
    ),
    (
        re.compile(_AUTH + rb"(?!(?i:" + _SCHEME + rb")\b)(?P<s>(?!\*)" + _BYTE + rb"{12,})"),
        (b"authorization",),
    ),
    # A reply of an engine has {"token": "word"} for each token: a secret has a digit.
    (
        re.compile(
            rb"['\"](?i:token)\\{0,3}['\"]\s{0,4}:\s{0,4}\\{0,3}['\"]"
            rb"(?P<s>(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{8,})"
        ),
        (b'"token', b"'token"),
    ),
    (
        re.compile(
            rb"[?&](?i:token|key|sig|signature|x-amz-signature|x-amz-security-token)="
            rb"(?P<s>(?!\*)[^\s&'\"<>#\\]{4,})"
        ),
        (b"token=", b"key=", b"sig=", b"signature="),
    ),
    (
        re.compile(
            rb"\bcurl(?=\s)[^\r\n]{0,200}?\s(?:-u|--user)[ =]?['\"]?[^\s:'\"]{1,64}:"
            rb"(?P<s>[^\s'\"*][^\s'\"]{2,})"
        ),
        (b"curl",),
    ),
    (re.compile(rb"\b(?i:cookie)\s{0,2}:\s{0,4}(?P<s>[^\r\n'\"*\s][^\r\n'\"]{3,})"), (b"cookie",)),
    (
        re.compile(rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?P<s>(?:(?!-----)[^*]){8,16000})"),
        (b"private key",),
    ),
    (re.compile(rb"(?<![A-Za-z0-9])(?P<s>hf_[A-Za-z0-9]{10,})"), (b"hf_",)),
    (
        re.compile(rb"(?<![A-Za-z0-9])(?P<s>(?:sk-|nvapi-|glpat-|xox[abprs]-)[A-Za-z0-9_-]{10,})"),
        (b"sk-", b"nvapi-", b"glpat-", b"xox"),
    ),
    (
        re.compile(rb"(?<![A-Za-z0-9])(?P<s>(?:gh[ops]_|github_pat_)[A-Za-z0-9_]{20,})"),
        (b"ghp_", b"gho_", b"ghs_", b"_pa"),
    ),
    (
        re.compile(
            rb"(?<![A-Za-z0-9])(?P<s>eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
        ),
        (b"eyj",),
    ),
    (re.compile(rb"://[^\s/:@'\"]{1,64}:(?P<s>[^\s/@'\"*][^\s/@'\"]{0,128})@"), (b"://",)),
)
_NOT_LINE_END = re.compile(rb"[^\r\n]")


def redact(data: bytes) -> tuple[bytes, int]:
    """Give the bytes with each secret overwritten by '*', and how many there were.

    The result has the length of the input and redacting it again changes nothing.
    """
    small = data.lower()
    there: dict[bytes, bool] = {}
    count = 0
    for pattern, hints in _RULES:
        if _any_in(data, small, hints, there):
            data, found = pattern.subn(_filled, data)
            count += found
    return data, count


def _any_in(data: bytes, small: bytes, hints: tuple[bytes, ...], there: dict[bytes, bool]) -> bool:
    """Whether one of the hints is in the bytes; `there` remembers what was searched."""
    for hint in hints:
        if hint not in there:
            there[hint] = hint in (data if hint.isupper() else small)
        if there[hint]:
            return True
    return False


def redact_text(text: str) -> str:
    """Redact a text; its length in UTF-8 stays the same."""
    return redact(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace")


def _filled(match: re.Match[bytes]) -> bytes:
    whole, start = match.group(0), match.start()
    left, right = match.start("s") - start, match.end("s") - start
    return whole[:left] + _NOT_LINE_END.sub(FILLER, whole[left:right]) + whole[right:]
