"""Command lines are made from parts, and only there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.transport.command import Command

PRINT_ARGV = "import json, sys; print(json.dumps(sys.argv[1:]))"

few = settings(max_examples=25, deadline=None)  # each example is a process

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), max_size=30)


def held(command: Command) -> tuple[int, bytes]:
    """Run a tied command to its own end, its lifeline held; its status and output."""
    with subprocess.Popen(
        ["sh", "-c", command.line], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        return process.wait(10), output


@few
@given(st.lists(texts, min_size=1, max_size=4))
def test_any_text_arrives_as_one_argument(parts: list[str]) -> None:
    command = Command.of(sys.executable, "-c", PRINT_ARGV, *parts)
    heard = subprocess.run(["sh", "-c", command.line], capture_output=True, check=True)
    assert json.loads(heard.stdout) == parts


@few
@given(st.lists(texts, min_size=1, max_size=2))
def test_any_text_arrives_as_one_argument_of_a_tied_command(parts: list[str]) -> None:
    command = Command.of(sys.executable, "-c", PRINT_ARGV, *parts).tied
    assert json.loads(held(command)[1]) == parts


@pytest.mark.parametrize("part", ["a\nb", "a\rb", "a\0b", "\ud800"])
def test_it_refuses_parts_that_no_argument_can_carry(part: str) -> None:
    with pytest.raises(ValueError, match="command part"):
        Command.of("echo", part)


@pytest.mark.parametrize("program", ["", "A=b", "-c"])
def test_it_refuses_what_is_no_program(program: str) -> None:
    with pytest.raises(ValueError):
        Command.of(program, "x")


def test_it_refuses_an_empty_command() -> None:
    with pytest.raises(ValueError):
        Command.of()


def test_a_tied_command_keeps_its_exit_status() -> None:
    command = Command.of("sh", "-c", "exit 7").tied
    assert held(command)[0] == 7


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_tied_command_ends_with_its_input(shell: str) -> None:
    line = Command.of("sh", "-c", "echo here; exec sleep 600").tied.line
    with subprocess.Popen(
        [shell, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.stdin.close()
        assert process.wait(5) == 128 + 15
