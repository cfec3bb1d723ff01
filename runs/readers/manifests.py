"""A server's command in a compose file, a Kubernetes manifest or a container's unit.

There it stands in parts (entrypoint, command, args), as words in a list or as a block, beside the
image whose own program it may be for, and the environment stands in lines of its own.
"""

import json
import re
import shlex
from typing import TypeAlias

from runs.engines.redact import redact_text

_MANY_LINES = 400
_KEY = re.compile(
    r"(?P<blank>[ \t]{0,60}(?:- )?)(?P<name>image|entrypoint|command|args|environment|env)"
    r"\s{0,4}:(?:\s{1,20}(?P<value>\S[^\n]{0,8000}))?\s*\Z"
)
# A container's unit; the lines of its Dockerfile.
_UNIT = re.compile(
    r"(?P<name>(?:Image|Exec)(?==)|(?:FROM|ENTRYPOINT|CMD)(?=\s))[=\s]\s{0,8}(?P<value>\S[^\n]{0,8000})\Z"
)
_SAME = {"exec": "command", "cmd": "command", "from": "image", "env": "environment"}
_OTHER_KEY = re.compile(r"(?P<blank>[ \t]{0,60}(?:- )?)[\"']?[\w./-]{1,100}[\"']?\s{0,4}:(?:\s|\Z)")
_ITEM = re.compile(r"(?P<blank>[ \t]{0,60})-(?:[ \t]{1,8}(?P<value>[^\n]{1,8000}))?\Z")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?\s*(?:#.*)?\Z")
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,80}"
_NAMED = re.compile(rf"(?:- )?name:\s{{0,4}}[\"']?(?P<name>{_NAME})[\"']?\s*\Z")
_VALUED = re.compile(r"value:\s{0,4}(?P<value>[^\n]{1,2000})\Z")
_INLINE = re.compile(
    rf"(?:- )?\{{\s{{0,4}}name:\s{{0,4}}[\"']?(?P<name>{_NAME})[\"']?,\s{{0,4}}value:"
    r"\s{0,4}(?P<value>[^{}\n]{1,2000})\}\Z"
)
_PAIR = re.compile(
    rf"(?:- )?[\"']?(?P<name>{_NAME})\s{{0,4}}(?:=|:\s)\s{{0,4}}(?P<value>[^\n]{{1,2000}})\Z"
)
_REMARK = re.compile(r"\s#(?:\s[^\n]*)?\Z")
# The command in one line, and the environment it is given.
Launch: TypeAlias = tuple[str, dict[str, str]]
_PARTS = ("entrypoint", "command", "args")


class Manifest:
    """Gathers one container's image, words and environment from the lines that tell them."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._image = ""
        self._words: dict[str, list[str]] = {}
        self._script: dict[str, list[str]] = {}
        self._environment: dict[str, str] = {}
        self._within: str | None = None
        self._indent = 0
        self._list: str | None = None
        self._block = False
        self._folded = False
        self._named: str | None = None
        self._lines = 0
        self._open = False
        self._begun = False

    def push(self, text: str, *, terminated: bool) -> tuple[bool, Launch | None]:
        """Take a line; tell whether it stands inside of a container's words, and what ended."""
        if not self._begun and ":" not in text and "=" not in text:
            return False, None
        text = text.rstrip()
        unit = _UNIT.match(text)
        key = unit or _KEY.match(text)
        if not terminated and (key or self._within):
            return True, None  # it may go on where the text was cut
        if self._list is not None and self._lines < _MANY_LINES:
            self._in_list(text.strip())
            return True, None
        if self._within and not self._block and text.lstrip().startswith("#"):
            return True, None  # switched off
        if self._within and text.strip() and self._is_inside(text, opens=key is not None):
            self._lines += 1
            self._open = True
            self._inside(text)
            return self._within in _PARTS, None
        if key is not None:
            name = _SAME.get(key["name"].lower(), key["name"].lower())
            ended = self.finish() if name == "image" and self._image else None
            self._begin(name, key["value"] or "", _width(text))
            return unit is None and key["value"] is None, ended
        if not text.strip() or not self._begun:
            return False, None
        self._within, self._open = None, False
        goes_on = _OTHER_KEY.match(text) or _ITEM.match(text) or text.lstrip().startswith("#")
        return False, None if goes_on or text[:1] == "[" or "=" in text[:40] else self.finish()

    def finish(self) -> Launch | None:
        """Give the command of the container so far, None without one, and forget it."""
        words = [word for name in _PARTS for word in self._words.get(name, ())]
        lines = [line for name in _PARTS for line in self._script.get(name, ())]
        image, told, is_open, folded = self._image, self._environment, self._open, self._folded
        self._clear()
        if is_open and words and words[-1].startswith("-"):
            words.pop()  # its value may have come behind the end
        if lines:
            return f"{shlex.join(words)} {_one_line(lines, folded=folded)}".strip(), told
        if not words:
            return None
        if "-c" in words[:-1] and "sh" in words[0]:
            return _one_line(words[words.index("-c") + 1].split("\n"), folded=False), told
        return f"{image} {shlex.join(words)}".strip(), told

    def _is_inside(self, text: str, *, opens: bool) -> bool:
        if self._lines > _MANY_LINES:
            return False
        width = _width(text)
        if self._block or opens:
            return width > self._indent and not (opens and not self._block)
        return width > self._indent or (width == self._indent and _ITEM.match(text) is not None)

    def _begin(self, name: str, value: str, width: int) -> None:
        self._within, self._indent, self._named, self._lines = None, width, None, 0
        self._begun = True
        self._block = _BLOCK.match(value) is not None
        if name == "image":
            self._image = _plain(value)
        elif name in _PARTS:
            self._words.pop(name, None)
            self._script.pop(name, None)
            if self._block:
                self._script[name], self._folded = [], value.startswith(">")
            elif value.startswith("[") and "]" not in value[-2:]:
                self._list, self._within = "", name
                self._in_list(value)
                return
            elif value:
                self._words[name] = _listed(value)
        if name != "image" and (not value or self._block):
            self._within = name

    def _in_list(self, text: str) -> None:
        """Take a line of a list in brackets that goes over several."""
        self._lines += 1
        self._list = f"{self._list or ''} {_REMARK.sub('', text)}".strip()
        if text.endswith(("]", "],")) and self._within:
            self._words[self._within] = _listed(self._list.rstrip(","))
            self._list = self._within = None

    def _inside(self, text: str) -> None:
        name, bare = self._within or "", text.strip()
        if name == "environment":
            self._variable(bare)
        elif self._block:
            self._script.setdefault(name, []).append(bare)
        elif (item := _ITEM.match(text)) is not None:
            value = item["value"] or ""
            if _BLOCK.match(value):  # one word of many lines
                self._block, self._script[name] = True, []
                self._folded = value.startswith(">")
            elif value:
                self._words.setdefault(name, []).append(_plain(value))

    def _variable(self, text: str) -> None:
        named, valued = _NAMED.match(text), _VALUED.match(text)
        if named:
            self._named = named["name"]
            return
        if valued and self._named:
            self._keep(self._named, valued["value"])
            self._named = None
            return
        told = _INLINE.match(text) or _PAIR.match(text)
        if told is not None and told["name"].upper() == told["name"]:
            self._keep(told["name"], told["value"])

    def _keep(self, name: str, value: str) -> None:
        kept = redact_text(f"{name}={_plain(value)}").partition("=")[2]
        if kept and "$" not in kept:
            self._environment[name] = kept


def _width(text: str) -> int:
    """Give the indentation, that of the key in '- key:'."""
    bare = text.lstrip()
    return len(text) - len(bare) + (2 if bare.startswith("- ") and _OTHER_KEY.match(text) else 0)


def _one_line(lines: list[str], *, folded: bool) -> str:
    """Join the lines of a block: in '>' they are one, in '|' each is a command or goes on."""
    whole = ""
    for line in lines:
        goes_on = folded or whole.endswith("\\") or line.startswith("-") or not whole
        whole = whole.removesuffix("\\").rstrip() + (" " if goes_on else " ; ") + line.strip()
    return whole.strip()


def _plain(value: str) -> str:
    """Give a scalar without its quotes or the remark behind it."""
    value = value.strip()
    if value[:1] == '"':
        end = re.match(r"\"(?:[^\"\\]|\\.)*\"", value)
        try:
            return str(json.loads(end[0])) if end else value
        except ValueError:
            return value.strip('"')
    if value[:1] == "'":
        told = re.match(r"'((?:[^']|'')*)'", value)
        return told[1].replace("''", "'") if told else value
    return _REMARK.sub("", value).strip()


def _listed(value: str) -> list[str]:
    """Give the words of an inline list or of a command in one line."""
    if value.startswith("["):
        try:
            told = json.loads(_REMARK.sub("", value))
        except (ValueError, RecursionError):
            inner = value.strip().strip("[]")
            return [_plain(each) for each in inner.split(",") if each.strip()]
        return [str(each) for each in told] if isinstance(told, list) else []
    try:
        return shlex.split(_plain(value) if value[:1] in "'\"" else value, comments=True)
    except ValueError:
        return value.split()
