"""Who we are to a node: the one key that is offered to it, from a file or an agent."""

from __future__ import annotations

import asyncio
import base64
import getpass
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import asyncssh

from hosts.transport import sentences
from hosts.transport.errors import LoginRefused
from hosts.transport.keyfile import problem_with_key_file
from hosts.transport.protocol import Limits, Target

NAMED = 8  # keys of an agent that an error lists


@asynccontextmanager
async def identity(target: Target, limits: Limits) -> AsyncIterator[Sequence[asyncssh.SSHKeyPair]]:
    """The key pairs to offer, never an empty list: the library would take the user's own keys."""
    if target.key_path and not target.agent_path:
        yield [await asyncio.to_thread(_key_file, target.key_path)]
    elif target.agent_path and not target.key_path:
        async with AsyncExitStack() as until_logged_in:
            held = await _agent_keys(target.agent_path, limits, until_logged_in)
            yield _chosen(target.agent_path, held, target.agent_key)
    else:
        raise sentences.no_way_in(target)


def _key_file(path: str) -> asyncssh.SSHKeyPair:
    try:
        if why := problem_with_key_file(path):
            raise sentences.unusable_key(path, why)
        return asyncssh.load_keypairs(asyncssh.read_private_key(path))[0]
    except PermissionError as problem:
        why = f"{getpass.getuser()}, as whom Throughline runs, may not read it"
        raise sentences.unusable_key(path, why) from problem
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise sentences.unusable_key(path, why) from problem


async def _agent_keys(
    path: str, limits: Limits, stack: AsyncExitStack
) -> Sequence[asyncssh.SSHKeyPair]:
    try:
        async with asyncio.timeout(limits.connect_s):
            agent = await stack.enter_async_context(await asyncssh.connect_agent(path))
            return await agent.get_keys()
    except (asyncssh.Error, OSError, ValueError) as problem:
        why = str(problem) or "it did not answer"
        if isinstance(problem, PermissionError):
            why = f"{getpass.getuser()}, as whom Throughline runs, may not use its socket"
        raise sentences.unusable_agent(path, why) from problem


def _chosen(
    path: str, held: Sequence[asyncssh.SSHKeyPair], wanted: str | None
) -> Sequence[asyncssh.SSHKeyPair]:
    """The one key of the host (and its certificate). No other key of the agent is shown to it."""
    if not held:
        raise sentences.unusable_agent(path, "it holds no key")
    prints = [_fingerprint(key) for key in held]
    if wanted is None and len(set(prints)) > 1:
        why = (
            "it holds several keys and only the host's own may be offered: choose it by fingerprint"
        )
        raise _which(path, held, prints, why)
    if wanted is not None and wanted not in prints:
        raise _which(path, held, prints, f"it does not hold the host's key {wanted}")
    return [key for key, mark in zip(held, prints, strict=True) if mark == (wanted or prints[0])]


def _which(
    path: str, held: Sequence[asyncssh.SSHKeyPair], prints: Sequence[str], why: str
) -> LoginRefused:
    named = {
        mark: f"{mark} {(key.get_comment_bytes() or b'').decode(errors='replace')[:60]}".strip()
        for key, mark in zip(held, prints, strict=True)
    }
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return sentences.unusable_agent(
        path, f"{why} (it holds {'; '.join(list(named.values())[:NAMED])}{more})"
    )


def _fingerprint(key: asyncssh.SSHKeyPair) -> str:
    """As `ssh-add -l` prints it: for a certificate, that of its key."""
    blob = key.public_data
    if b"-cert-v0" in key.algorithm:
        text = key.algorithm + b" " + base64.b64encode(blob)
        with suppress(
            ValueError
        ):  # of a kind the library does not know: it has a print all the same
            return asyncssh.import_certificate(text).key.get_fingerprint()
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
