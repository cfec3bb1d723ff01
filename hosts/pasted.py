"""The form of a new host, filled from a pasted entry of ~/.ssh/config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hosts import sshconfig
from hosts.models import Host
from hosts.sshconfig import Entry, Remark

TAKEN = ("name", "address", "port", "user", "key_path", "agent_path")


@dataclass(frozen=True)
class Pasted:
    """What the page shows: the problem, or a choice among hosts, or one host's values."""

    problem: str = ""
    choices: tuple[str, ...] = ()
    entry: Entry | None = None
    values: Mapping[str, object] | None = None

    @property
    def too_long(self) -> bool:
        return "longer than" in self.problem


def read(text: str, alias: str, typed: Mapping[str, str]) -> Pasted:
    """Values of the text before those that were ``typed``; where it says nothing, these stay."""
    config = sshconfig.read(text)
    if config.problem:
        return Pasted(problem=config.problem)
    if alias not in config.aliases and len(config.aliases) > 1:
        return Pasted(choices=config.aliases)
    entry = config.entry(alias if alias in config.aliases else config.aliases[0], str(Path.home()))
    found = {name: getattr(entry, name) for name in TAKEN if getattr(entry, name)}
    if found.keys() & {"key_path", "agent_path"}:  # one way in, not two
        typed = {k: v for k, v in typed.items() if k not in ("key_path", "agent_path", "agent_key")}
    jump, entry = _jump(entry)
    return Pasted(entry=entry, values={**typed, **found, **jump}, choices=config.aliases)


def _jump(entry: Entry) -> tuple[dict[str, object], Entry]:
    """The jump as one of our hosts, by name or address; a remark if it is none."""
    if not entry.jump:
        return {}, entry
    hosts = Host.objects.exclude(address="")
    found = hosts.filter(name=entry.jump).first() or hosts.filter(address=entry.jump).first()
    if found is not None:
        return {"jump": found.pk}, entry
    why = (
        f"No host here has the name or address {entry.jump}. Add that one first, confirm its key, "
        "then choose it below."
    )
    return {}, replace(entry, remarks=(*entry.remarks, Remark(0, "ProxyJump", why)))
