"""Fencing tokens: whoever comes with an older token than was seen has lost its claim.

`<state root>/fence/host` names the installation that this node belongs to and the highest token
seen of each resource: {"owner", "since", "tokens": {"whole": 7, "gpu-0": 5, "port-30000": 5}}. An
order for the whole host must not be older than any of them; one for GPUs and a port not older than
its own ones and the whole host's. "token" repeats the highest, for kits that knew only one.

The lock is held while the command acts, so that no newer holder can come in between the check and
the deed.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List

from . import request as req
from .errors import BadRequest, OtherInstallation, StaleFence
from .jsonfile import read_json, write_json
from .locks import exclusive
from .rundir import make_private, state_root

WAIT_S = 15.0  # a start holds it for at most ten seconds
WHOLE = "whole"
FILE = "host"


@contextmanager
def admitted(request: req.Json) -> Iterator[None]:
    """Refuses a stranger and a stale token, else records this one and keeps others out until done.

    With `takeover`, somebody decided that the node passes to the asker: it begins anew.
    """
    fence = req.mapping(request, "fence")
    owner, token = req.name(fence, "owner"), req.whole(fence, "token", least=0)
    keys = _keys(fence)
    folder = os.path.join(state_root(), "fence")
    make_private(folder)
    path = os.path.join(folder, FILE)
    with exclusive(os.path.join(folder, "." + FILE + ".lock"), WAIT_S):
        known = _known(read_json(path))
        if fence.get("takeover") is True and known["owner"] != owner:
            known = _nobodys()
        _refuse(known, owner, token, keys)
        _record(path, known, owner, token, keys)
        yield


def _keys(fence: req.Json) -> List[str]:
    keys = req.parts(fence, "keys")
    for key in keys:
        if not req.NAME.fullmatch(key):
            raise BadRequest("'keys' has a name that cannot be one: {!r}".format(key))
    return keys


def _nobodys() -> Dict[str, Any]:
    return {"owner": None, "since": None, "tokens": {}}


def _known(record: Any) -> Dict[str, Any]:
    """What the file says; one of the earlier format held one token, for the whole host."""
    known = _nobodys()
    if not record:
        return known
    tokens = record.get("tokens")
    if not isinstance(tokens, dict):
        tokens = {WHOLE: record.get("token")}
    known["tokens"] = {key: value for key, value in tokens.items() if isinstance(value, int)}
    if isinstance(record.get("owner"), str):
        known["owner"], known["since"] = record["owner"], record.get("since")
    return known


def _refuse(known: Dict[str, Any], owner: str, token: int, keys: List[str]) -> None:
    tokens = known["tokens"]
    if known["owner"] not in (None, owner):
        raise OtherInstallation(
            "the node belongs to another installation, {}".format(known["owner"]),
            {"owner": known["owner"], "since": known["since"]},
        )
    compared = tokens if WHOLE in keys else [key for key in (WHOLE, *keys) if key in tokens]
    for key in sorted(compared):
        if token < tokens[key]:
            raise StaleFence(
                "token {} is older than {} of {}".format(token, tokens[key], key),
                {"owner": known["owner"], "seen": max(tokens.values())},
            )


def _record(path: str, known: Dict[str, Any], owner: str, token: int, keys: List[str]) -> None:
    tokens = {**known["tokens"], **dict.fromkeys(keys, token)}
    since = known["since"] if known["owner"] == owner else time.time()
    if known["owner"] == owner and tokens == known["tokens"]:
        return
    highest = max(tokens.values())
    write_json(path, {"owner": owner, "since": since, "tokens": tokens, "token": highest})
