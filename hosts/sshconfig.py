"""A pasted entry of ~/.ssh/config, read and never obeyed: values for a form, and what is left out.

Pure: no file is opened, nothing is run, no name is looked up. Whatever the text, an answer comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST = 64 * 1024  # characters; an entry has a few hundred
ALIASES = 100  # that are offered for a choice
TOLD = 40  # remarks on one entry

# What a host's form has a place for.
TAKEN = frozenset(
    {"hostname", "port", "user", "identityfile", "identityagent", "proxyjump", "hostkeyalias"}
)

_RUNS = "It would run a program on the machine of Throughline."
_FORWARD = "No tunnel is opened to or from a node."
_KEYS = "Host keys come from what a person has confirmed here, and from nowhere else."
_OURS = "Throughline has durations of its own."
_LENT = "Nothing of this machine is lent to a node."
_FILES = "No other file is read."
_ENVIRONMENT = "No variable is sent along; a campaign has an environment of its own."
_KEY_ONLY = "Throughline logs in by public key only."
WHY_NOT = {
    "proxycommand": f"{_RUNS} Use ProxyJump.",
    "localcommand": _RUNS,
    "permitlocalcommand": _RUNS,
    "knownhostscommand": _RUNS,
    "remotecommand": "Throughline sends its own commands.",
    "requesttty": "Throughline needs no terminal.",
    "include": f"{_FILES} Paste what stands there.",
    "userknownhostsfile": _KEYS,
    "globalknownhostsfile": _KEYS,
    "stricthostkeychecking": f"{_KEYS} A changed key always stops everything.",
    "checkhostip": _KEYS,
    "verifyhostkeydns": _KEYS,
    "updatehostkeys": _KEYS,
    "hashknownhosts": _KEYS,
    "localforward": _FORWARD,
    "remoteforward": _FORWARD,
    "dynamicforward": _FORWARD,
    "gatewayports": _FORWARD,
    "exitonforwardfailure": _FORWARD,
    "forwardagent": _LENT,
    "forwardx11": _LENT,
    "forwardx11trusted": _LENT,
    "sendenv": _ENVIRONMENT,
    "setenv": _ENVIRONMENT,
    "identitiesonly": "It is always so: only the host's own key is offered.",
    "certificatefile": "A certificate is used if the agent holds it.",
    "addkeystoagent": "Nothing is added to an agent.",
    "pkcs11provider": _RUNS,
    "securitykeyprovider": _RUNS,
    "passwordauthentication": _KEY_ONLY,
    "kbdinteractiveauthentication": _KEY_ONLY,
    "preferredauthentications": _KEY_ONLY,
    "connecttimeout": _OURS,
    "serveraliveinterval": _OURS,
    "serveralivecountmax": _OURS,
    "controlmaster": "Throughline keeps connections of its own.",
    "controlpath": "Throughline keeps connections of its own.",
    "controlpersist": "Throughline keeps connections of its own.",
}


@dataclass(frozen=True)
class Remark:
    """Something that was not taken as it stands: where (0: nowhere in particular), what, why."""

    line: int
    what: str
    why: str


@dataclass(frozen=True)
class Entry:
    """One host as the form has it; empty where the text says nothing. ``jump`` is as typed."""

    alias: str
    name: str
    address: str
    port: str
    user: str
    key_path: str
    agent_path: str
    jump: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class _Line:
    n: int
    keyword: str  # as typed
    words: tuple[str, ...]

    @property
    def key(self) -> str:
        return self.keyword.lower()


@dataclass(frozen=True)
class _Block:
    patterns: tuple[str, ...]
    lines: list[_Line] = field(default_factory=list)


@dataclass(frozen=True)
class Config:
    """What was pasted. ``problem`` says in a sentence why there is nothing to choose from."""

    aliases: tuple[str, ...]
    problem: str
    blocks: tuple[_Block, ...]
    broken: tuple[Remark, ...]

    def entry(self, alias: str, home: str) -> Entry:
        """The values ssh would use for ``alias``: of all blocks that fit, the first one wins.

        ``home`` is the folder that ~ stands for.
        """
        first: dict[str, _Line] = {}
        remarks = list(self.broken)
        for block in self.blocks:
            if not _fits(alias, block.patterns):
                continue
            for line in block.lines:
                if line.key not in TAKEN:
                    why = WHY_NOT.get(line.key, "Throughline has no such setting.")
                    remarks.append(Remark(line.n, line.keyword, why))
                elif line.key not in first:
                    first[line.key] = line
                elif line.key == "identityfile":
                    one = "One key is used for a host; this is another."
                    remarks.append(Remark(line.n, line.keyword, one))
        return _Values(alias, home, first, remarks).entry()


def read(text: str) -> Config:
    """Never raises; what is wrong with the text is told in ``problem`` and by ``remarks``."""
    if len(text) > MOST:
        return _nothing(f"This is longer than {MOST // 1024} KiB. Paste the entry alone.")
    if re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text):
        return _nothing("There are control characters in it: this is no text of ~/.ssh/config.")
    blocks, broken = [_Block(("*",))], []
    for line in _lines(text):
        if isinstance(line, Remark):
            broken.append(line)
        elif line.key == "host":
            blocks.append(_Block(line.words))
        elif line.key == "match":
            everybody = [word.lower() for word in line.words] == ["all"]
            blocks.append(_Block(("*",) if everybody else ()))
            if not everybody:
                broken.append(_untaken_match(line))
        else:
            blocks[-1].lines.append(line)
    named = (w for block in blocks for w in block.patterns if not set("*?!") & set(w))
    aliases = tuple(dict.fromkeys(named))
    if not aliases:
        return _nothing(
            'No line "Host NAME" with a plain name is in it. Paste it with its first line.'
        )
    if len(aliases) > ALIASES:
        return _nothing(f"It names {len(aliases)} hosts. Paste the entry alone.")
    return Config(aliases, "", tuple(blocks), tuple(broken))


def _nothing(problem: str) -> Config:
    return Config((), problem, (), ())


def _untaken_match(line: _Line) -> Remark:
    words = {word.lower().lstrip("!") for word in line.words}
    why = f"{_RUNS} " if "exec" in words else ""
    return Remark(
        line.n, "Match", f"{why}The settings below it, up to the next Host, are not taken."
    )


def _lines(text: str) -> Iterator[_Line | Remark]:
    for n, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = re.match(r"([A-Za-z0-9]+)(?:\s*=\s*|\s+|$)(.*)", line, re.DOTALL)
        if found is None:
            yield Remark(n, line[:40], "This is no setting.")
            continue
        words = _words(found[2])
        if words is None:
            yield Remark(n, found[1][:40], "A quotation mark has no end.")
        elif not words:
            yield Remark(n, found[1][:40], "It has no value.")
        else:
            yield _Line(n, found[1][:40], words)


def _words(text: str) -> tuple[str, ...] | None:
    """Words apart by blanks, those in quotation marks whole, up to a #; None if a mark is open."""
    words, word, mark, begun = [], "", "", False
    for char in text:
        if mark:
            mark, word = ("", word) if char == mark else (mark, word + char)
        elif char in "\"'":
            mark, begun = char, True
        elif char.isspace():
            if begun:
                words.append(word)
            word, begun = "", False
        elif char == "#" and not begun:
            break
        else:
            word, begun = word + char, True
    if mark:
        return None
    return (*words, word) if begun else tuple(words)


def _fits(alias: str, patterns: tuple[str, ...]) -> bool:
    """As ssh has it: one pattern must fit, and none with a ! before it."""
    if any(_like(alias, p[1:]) for p in patterns if p.startswith("!")):
        return False
    return any(_like(alias, p) for p in patterns if not p.startswith("!"))


def _like(text: str, pattern: str) -> bool:
    """* is any text, ? any character. Takes at most len(text) × len(pattern) steps."""
    at, p, star, tried = 0, 0, -1, 0
    while at < len(text):
        if p < len(pattern) and pattern[p] == "*":
            star, tried, p = p, at, p + 1
        elif p < len(pattern) and pattern[p] in ("?", text[at]):
            at, p = at + 1, p + 1
        elif star >= 0:
            tried, at, p = tried + 1, tried + 1, star + 1
        else:
            return False
    return not pattern[p:].strip("*")


class _Values:
    """The settings of one alias on their way into the form."""

    def __init__(
        self, alias: str, home: str, first: dict[str, _Line], remarks: list[Remark]
    ) -> None:
        self.alias, self.home, self.first, self.remarks = alias, home, first, remarks
        self.tokens = {"%": "%", "h": alias, "n": alias}

    def entry(self) -> Entry:
        address = self.value("hostname") or self.alias
        port, user = self.value("port"), self.value("user")
        self.tokens |= {"h": address, "p": port or "22", "d": self.home}
        self.tokens |= {"r": user} if user else {}
        agent, key = self.agent(), self.path("identityfile")
        if agent and key:
            how = f"With an agent the key is chosen by its fingerprint: ssh-keygen -lf {key}"
            self.remark("identityfile", how)
            key = ""
        if "hostkeyalias" in self.first:
            self.remark("hostkeyalias", "Not needed: each host here has confirmed keys of its own.")
        return Entry(
            alias=self.alias,
            name=re.sub(r"[^a-z0-9_-]+", "-", self.alias.lower()).strip("-")[:64],
            address=address,
            port=port,
            user=user,
            key_path=key,
            agent_path=agent,
            jump=self.jump(),
            remarks=tuple(sorted(self.remarks, key=lambda remark: remark.line)[:TOLD]),
        )

    def remark(self, key: str, why: str) -> None:
        line = self.first[key]
        self.remarks.append(Remark(line.n, line.keyword, why))

    def value(self, key: str) -> str:
        """The value with its tokens filled in; empty, with a remark, if one cannot be."""
        line = self.first.get(key)
        if line is None:
            return ""
        if len(line.words) > 1:
            self.remark(key, "It has more than one value; quotation marks hold one together.")
            return ""
        filled, unknown = self.filled(line.words[0])
        if unknown:
            self.remark(key, f"{unknown} is not known here. Type the value below yourself.")
            return ""
        return filled

    def filled(self, text: str) -> tuple[str, str]:
        unknown = [
            found[0]
            for found in re.finditer(r"%(.?)", text, re.DOTALL)
            if found[1] not in self.tokens
        ]
        if unknown:
            return "", unknown[0]
        return re.sub(r"%(.)", lambda found: self.tokens[found[1]], text), ""

    def path(self, key: str) -> str:
        path = self.value(key)
        if not path or path.lower() == "none":
            return ""
        if path == "~" or path.startswith("~/"):
            path = self.home.rstrip("/") + path[1:]
            self.remark(key, f"~ was read as {self.home}, the home of who runs Throughline.")
        elif path.startswith("~"):
            self.remark(key, "Another user's home is not known here. Give the whole path below.")
            return ""
        if "$" in path:
            self.remark(key, "Variables are not known here. Give the whole path below.")
            return ""
        if not path.startswith("/"):
            self.remark(key, "This path does not begin with /. Give the whole path below.")
            return ""
        return path

    def agent(self) -> str:
        told = self.first.get("identityagent")
        if told is not None and told.words == ("SSH_AUTH_SOCK",):
            self.remark("identityagent", "That is the agent of whoever runs ssh. Give its socket.")
            return ""
        return self.path("identityagent")

    def jump(self) -> str:
        line = self.first.get("proxyjump")
        told = self.value("proxyjump")
        if line is None or told.lower() in ("", "none"):
            return ""
        *before, last = [hop.strip() for hop in told.split(",")]
        if before:
            self.remark("proxyjump", f"{last} is the jump of this host; {', then '.join(before)} "
                        f"is to be that of {last}.")  # fmt: skip
        last = last.removeprefix("ssh://").rpartition("@")[2]
        inside = re.fullmatch(r"\[(.*)\](?::\d*)?", last)
        if inside:
            return inside[1]
        return last.rpartition(":")[0] if last.count(":") == 1 else last
