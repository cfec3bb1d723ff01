"""Fencing tokens: whoever comes with an older token than was seen has lost its claim.

The token is kept in `<state root>/fence/<key>`. The lock is held while the command acts, so
that no newer holder can come in between the check and the deed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator

from . import request as req
from .errors import StaleFence
from .jsonfile import read_json, write_json
from .locks import exclusive
from .rundir import make_private, state_root

WAIT_S = 15.0  # a start holds it for at most ten seconds


@contextmanager
def admitted(request: req.Json) -> Iterator[None]:
    """Refuses a stale token, else records this one and keeps others out until done."""
    fence = req.mapping(request, "fence")
    key, token = req.name(fence, "key"), req.whole(fence, "token", least=0)
    folder = os.path.join(state_root(), "fence")
    make_private(folder)
    path = os.path.join(folder, key)
    with exclusive(os.path.join(folder, "." + key + ".lock"), WAIT_S):
        seen = (read_json(path) or {}).get("token", -1)
        if token < seen:
            raise StaleFence("token {} of {} is older than {}".format(token, key, seen))
        if token > seen:
            write_json(path, {"token": token})
        yield
