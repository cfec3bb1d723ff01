"""The node's side of the kit protocol, with a connection that answers from a script."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hosts import node as node_module
from hosts.kit import Kit
from hosts.node import KitError, Node
from hosts.transport.command import Command
from hosts.transport.errors import CommandFailed
from hosts.transport.protocol import Completed

KIT = Kit(data=b"the kit", sha256="5ha", name="kit-5ha.pyz")
WHOLE = Completed(0, b"3.11 5ha\n", b"")
ABSENT = Completed(0, b"3.11 -\n", b"")


class Scripted:
    """Gives the answers in their order and remembers what it was asked."""

    closed = False

    def __init__(self, *answers: Completed) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Command, bytes]] = []
        self.files: dict[str, bytes] = {}
        self.stream_fails: CommandFailed | None = None
        self.chunks = [b"MARKEND", b"bytes"]

    async def run(
        self, command: Command, *, stdin: bytes = b"", timeout: float, check: bool = True
    ) -> Completed:
        self.asked.append((command, stdin))
        return self.answers.pop(0)

    @asynccontextmanager
    async def stream(
        self, command: Command, *, stdin: bytes = b"", timeout_idle: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append((command, stdin))
        yield self._chunks(command)

    async def _chunks(self, command: Command) -> AsyncIterator[bytes]:
        mark = json.loads(self.asked[-1][1])["mark"].encode()
        for chunk in self.chunks:
            yield chunk.replace(b"MARK", mark[:9]).replace(b"END", mark[9:] + b"\n")
        if self.stream_fails is not None:
            self.stream_fails.command = command
            raise self.stream_fails

    async def put(self, data: bytes, path: str, mode: int = 0o600) -> None:
        self.files[path] = data

    async def close(self) -> None:
        self.closed = True


def replying(*answers: Completed) -> tuple[Node, Scripted]:
    connection = Scripted(*answers)
    return Node(connection, KIT), connection


async def everything_of(node: Node) -> bytes:
    async with node.follow({"offset": 0}) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def test_it_brings_the_kit_only_where_it_is_missing() -> None:
    node, connection = replying(ABSENT, WHOLE)
    await node.ensure_kit()
    await node.ensure_kit()
    assert connection.files == {".local/state/throughline/kit/kit-5ha.pyz": b"the kit"}
    node, connection = replying(WHOLE)
    await node.ensure_kit()
    assert connection.files == {}


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([ABSENT, Completed(0, b"3.11 other\n", b"")], "kit-damaged"),
        ([Completed(127, b"", b"sh: python3: not found\n")], "no-python"),
        ([Completed(0, b"3.6 -\n", b"")], "old-python"),
        ([Completed(1, b"", b"PermissionError: kit\n")], "no-answer"),
    ],
)
async def test_it_says_why_the_kit_cannot_be_used(answers: list[Completed], code: str) -> None:
    node, _ = replying(*answers)
    with pytest.raises(KitError) as caught:
        await node.ensure_kit()
    assert caught.value.code == code


async def test_a_greeting_before_the_answer_does_no_harm() -> None:
    node, connection = replying(
        Completed(0, b"Welcome!\n3.11 5ha\n", b""), Completed(0, b'Welcome!\n{"a": 1}\n', b"")
    )
    assert await node.call("status", {"run": "r"}) == {"a": 1}
    command, stdin = connection.asked[1]
    assert command.parts == ("python3", ".local/state/throughline/kit/kit-5ha.pyz", "status")
    assert json.loads(stdin) == {"run": "r"}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (Completed(75, b'{"error": {"code": "stale-fence", "message": "old"}}\n', b""),
         "stale-fence", "old"),
        (Completed(0, b"no json\n", b""), "no-answer", "status"),
        (Completed(1, b"", b"Traceback\nOSError: disk\n"), "no-answer", "OSError: disk"),
        (Completed(-9, b'{"a": 1}\n', b""), "no-answer", "status"),
    ],
)  # fmt: skip
async def test_what_is_no_good_reply_is_a_kit_error(
    answer: Completed, code: str, words: str
) -> None:
    node, _ = replying(WHOLE, answer)
    with pytest.raises(KitError, match=words) as caught:
        await node.call("status", {})
    assert caught.value.code == code


async def test_following_asks_with_one_line_and_passes_bytes_on() -> None:
    node, connection = replying(WHOLE)
    assert await everything_of(node) == b"bytes"
    line = connection.asked[-1][1]
    assert line.endswith(b"\n")
    assert json.loads(line)["offset"] == 0


@pytest.mark.parametrize(
    "chunks",
    [
        [b"Welcome to Ubuntu\n\nMARKENDbytes"],
        [b"Welcome", b" to Ubuntu\nMARK", b"ENDby", b"tes"],
        [b"M", b"MARKEND", b"bytes"],
        [b"MARKEND", b"bytes"],
    ],
)
async def test_a_greeting_of_the_login_is_no_part_of_the_file(chunks: list[bytes]) -> None:
    node, connection = replying(WHOLE)
    connection.chunks = chunks
    assert await everything_of(node) == b"bytes"


async def test_a_login_that_prints_without_end_is_an_error() -> None:
    node, connection = replying(WHOLE)
    connection.chunks = [b"y\n" * 300_000] * 3
    with pytest.raises(KitError, match="no file's bytes"):
        await everything_of(node)


async def test_a_refused_follow_tells_what_the_kit_said() -> None:
    node, connection = replying(WHOLE)
    said = b'{"error": {"code": "not-found", "message": "no such file"}}\n'
    connection.stream_fails = CommandFailed("status 1", exit_status=1, stderr=said)
    with pytest.raises(KitError, match="no such file"):
        await everything_of(node)


async def test_f64_the_kit_arrives_where_sftp_does_not_work() -> None:
    """A shell that prints breaks SFTP: its greeting stands where the protocol begins."""

    class NoSftp(Scripted):
        async def put(self, data: bytes, path: str, mode: int = 0o600) -> None:
            raise CommandFailed("nothing was taken")

    done = Completed(0, b"Welcome!\n", b"")
    connection = NoSftp(ABSENT, done, WHOLE)
    await Node(connection, KIT).ensure_kit()
    command, data = connection.asked[1]
    assert data == KIT.data
    assert command.parts[-1] == ".local/state/throughline/kit/kit-5ha.pyz"
    with pytest.raises(CommandFailed, match="nothing was taken"):
        await Node(NoSftp(ABSENT, Completed(1, b"", b"No space left")), KIT).ensure_kit()


def test_f64_what_brings_the_kit_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a/b/kit.pyz"
    words = [sys.executable, "-c", node_module._BRING, str(path)]
    for data in (b"first", b"\x00second\xff"):
        subprocess.run(words, input=data, check=True)
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert [each.name for each in path.parent.iterdir()] == ["kit.pyz"]
