"""Files arrive whole or not at all."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path

import pytest

from hosts.transport.errors import CommandFailed
from hosts.transport.ssh import SshConnection
from tests.contract.conftest import Server


@pytest.fixture
def place(server: Server) -> Path:
    """A folder of this test in the node's home; not made yet."""
    return server.home / f"files-{uuid.uuid4().hex}"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_it_writes_bytes_with_the_mode_and_private_parents(
    connection: SshConnection, place: Path
) -> None:
    data = bytes(range(256)) * 4096
    await connection.put(data, f"{place.name}/a/b/kit.pyz", 0o640)
    file = place / "a" / "b" / "kit.pyz"
    assert file.read_bytes() == data
    assert [mode(p) for p in (file, file.parent, place)] == [0o640, 0o700, 0o700]


async def test_a_path_may_be_absolute_and_private_by_default(
    connection: SshConnection, place: Path
) -> None:
    await connection.put(b"x", str(place / "file"))
    assert mode(place / "file") == 0o600


async def test_a_reader_sees_the_old_file_or_the_new_one(
    connection: SshConnection, place: Path
) -> None:
    old, new = b"o" * 3_000_000, b"n" * 3_000_000
    await connection.put(old, f"{place.name}/file")
    writing = asyncio.ensure_future(connection.put(new, f"{place.name}/file"))
    while not writing.done():
        assert (place / "file").read_bytes() in (old, new)
        await asyncio.sleep(0.005)
    await writing
    assert (place / "file").read_bytes() == new
    assert os.listdir(place) == ["file"]


async def test_two_writers_leave_one_whole_file(connection: SshConnection, place: Path) -> None:
    texts = [bytes([n]) * 500_000 for n in range(4)]
    await asyncio.gather(*(connection.put(text, f"{place.name}/file") for text in texts))
    assert (place / "file").read_bytes() in texts
    assert os.listdir(place) == ["file"]


async def test_a_file_that_cannot_be_written_is_said_and_leaves_nothing(
    connection: SshConnection, place: Path
) -> None:
    (place / "taken").mkdir(parents=True)
    with pytest.raises(CommandFailed, match="did not take the file"):
        await connection.put(b"x", f"{place.name}/taken")
    assert os.listdir(place) == ["taken"]
