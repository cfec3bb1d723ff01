"""Who we are to a node: the one key that is offered to it, from a file or an agent."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncssh

from hosts.transport import sentences
from hosts.transport.protocol import Limits, Target


@asynccontextmanager
async def identity(target: Target, limits: Limits) -> AsyncIterator[Sequence[asyncssh.SSHKeyPair]]:
    """The key pairs to offer, never an empty list: the library would take the user's own keys."""
    if target.key_path and not target.agent_path:
        yield [await asyncio.to_thread(_key_file, target.key_path)]
    elif target.agent_path and not target.key_path:
        async with AsyncExitStack() as until_logged_in:
            yield await _agent_keys(target.agent_path, limits, until_logged_in)
    else:
        raise sentences.no_way_in(target)


def _key_file(path: str) -> asyncssh.SSHKeyPair:
    try:
        if stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
            raise sentences.unusable_key(path, "others may read it (chmod 600 would end that)")
        return asyncssh.load_keypairs(asyncssh.read_private_key(path))[0]
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise sentences.unusable_key(path, why) from problem


async def _agent_keys(
    path: str, limits: Limits, stack: AsyncExitStack
) -> Sequence[asyncssh.SSHKeyPair]:
    try:
        async with asyncio.timeout(limits.connect_s):
            agent = await stack.enter_async_context(await asyncssh.connect_agent(path))
            keys = await agent.get_keys()
    except (asyncssh.Error, OSError, ValueError) as problem:
        raise sentences.unusable_agent(path, str(problem) or "it did not answer") from problem
    if not keys:
        raise sentences.unusable_agent(path, "it holds no key")
    return keys
