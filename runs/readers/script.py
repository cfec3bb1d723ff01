"""Lines of a script, a unit or a prompt: what goes on, what is a remark, what variables hold.

A command is read from one line; here the lines that make one are put together, and what was set
before it (`export`, a unit's Environment, `$env:`) is kept for it.
"""

import re

from runs.engines.redact import redact_text
from runs.readers.words import shell_words

_MANY_LINES = 400
_MANY_NAMES = 200
_LONG = 20_000
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,80}"
# A shell goes on behind '\', PowerShell behind '`', cmd behind '^'. People put remarks behind it.
_GOES_ON = re.compile(r"(?:\\|\s\\\s{1,40}#[^\n]{0,300})\Z")
_GOES_ON_ELSEWHERE = re.compile(r"\s[`^]\Z")
_LOOKS_TYPED = re.compile(r"\s-{1,2}[A-Za-z]|\.exe\b|\bpython|\s-m\s")
_SECOND_PROMPT = re.compile(r"\s{0,8}>{1,2} ")
_PROMPT = re.compile(r"(?:PS )?[A-Za-z]:\\[^>\n]{0,200}>\s?|\s{0,8}\$ ")
_SET = re.compile(
    r"\s{0,24}(?:(?:export|declare -x|set|ENV)\s{1,8}|Environment=)(?P<rest>\S.*)", re.DOTALL
)
_WINDOWS = re.compile(
    rf"\s{{0,8}}(?:set\s{{1,4}}\"?|\$[Ee]nv:)(?P<name>{_NAME})\s{{0,4}}=\s{{0,4}}(?P<value>[^\r\n;]{{1,500}})"
)
_ASSIGNED = re.compile(rf"(?P<name>{_NAME})=(?P<value>.*)", re.DOTALL)
_ALONE = re.compile(rf"\s{{0,24}}{_NAME}=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s'\"(]*)\s{{0,8}}(?:#.*)?\Z")
_ARRAY = re.compile(rf"\s{{0,24}}(?P<name>{_NAME})=\(\s{{0,8}}(?P<rest>[^\n]*)\Z")
_REMARK = re.compile(r"(?:\A|\s)#(?:\s[^\n]*)?\Z")
_USED = re.compile(
    rf"\"?\$\{{(?P<list>{_NAME})\[[@*]\]\}}\"?"
    rf"|\$\{{(?P<braced>{_NAME})(?::?-(?P<default>[^{{}}$\n]{{0,200}}))?\}}|\$(?P<plain>{_NAME})"
)


class Script:
    """Puts the lines of commands together and remembers what was set before them."""

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._parts: list[str] = []
        self._array: str | None = None

    def push(self, text: str, *, terminated: bool) -> str | None:
        """Take a line; give the whole one that it ends, None when more of it is to come."""
        if self._array is not None and self._in_array(text):
            return None
        if self._parts:
            if text.lstrip().startswith("#"):
                return None  # switched off, in the middle of a command
            text = _SECOND_PROMPT.sub("", text, count=1)
        stripped = text.rstrip()
        mark = _GOES_ON.search(stripped) if "\\" in stripped else None
        if stripped.endswith(("`", "^")) and _LOOKS_TYPED.search(
            " ".join([*self._parts[:1], stripped])
        ):
            mark = _GOES_ON_ELSEWHERE.search(stripped)
        if mark is not None and len(self._parts) < _MANY_LINES:
            self._parts.append(stripped[: mark.start()])
            return None
        whole = " ".join([*self._parts, text]) if self._parts else text
        self._parts = []
        if terminated and len(whole) < _LONG:
            self._remember(whole)
        return self._filled(whole)

    def _remember(self, text: str) -> None:
        if "=" not in text:
            return
        text = _PROMPT.sub("", text, count=1)
        array = _ARRAY.match(text)
        if array is not None:
            self._array, self._known[array["name"]] = array["name"], ""
            self._in_array(array["rest"])
            return
        windows = _WINDOWS.match(text)
        if windows is not None:
            self._set(windows["name"], windows["value"].strip().strip("'\""), given=True)
            return
        told = _SET.match(text)
        if told is None and not _ALONE.match(text):
            return
        for word in shell_words(self._filled(told["rest"] if told else text)):
            assigned = _ASSIGNED.fullmatch(word)
            if assigned is None:
                return
            self._set(assigned["name"], assigned["value"], given=told is not None)

    def _set(self, name: str, value: str, *, given: bool) -> None:
        """Keep a variable; `given` says that programs started later have it, too."""
        if "$" in value or "`" in value or len(self._known) >= _MANY_NAMES:
            return
        kept = redact_text(f"{name}={value}").partition("=")[2]
        self._known[name] = kept
        if given or name in self.environment:
            self.environment[name] = kept

    def _in_array(self, text: str) -> bool:
        """Take a line of `NAME=( … )`; tell whether it was one."""
        name = self._array
        if name is None or len(self._known.get(name, "")) > _LONG:
            self._array = None
            return False
        words = _REMARK.sub("", text.strip()).strip()
        if words.endswith(")"):
            words, self._array = words[:-1], None
        self._known[name] = f"{self._known.get(name, '')} {words.strip()}".strip()
        return True

    def _filled(self, text: str) -> str:
        """Put in what is known of variables; others stay as they are written."""
        if "$" not in text or len(text) > _LONG:
            return text
        return _USED.sub(self._value, text)[: 2 * _LONG]

    def _value(self, used: re.Match[str]) -> str:
        name = used["list"] or used["braced"] or used["plain"]
        if name in self._known:
            return self._known[name]
        return used["default"] or used[0]
