"""A pasted ~/.ssh/config: which values it gives, what is left out and why; nothing is obeyed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.sshconfig import ALIASES, MOST, TAKEN, WHY_NOT, read

CASES = sorted((Path(__file__).parent / "sshconfig_cases").glob("*.conf"))
HOME = "/home/ops"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_it_gives_what_ssh_would_use_and_says_what_is_left_out(case: Path) -> None:
    """Beside each text lies what is expected of it."""
    expected = json.loads(case.with_suffix(".json").read_text())
    config = read(case.read_bytes().decode())
    assert list(config.aliases) == expected["aliases"]
    assert config.problem == ""
    for alias, values in expected["entries"].items():
        entry = config.entry(alias, HOME)
        remarks = [[remark.line, remark.what] for remark in entry.remarks]
        assert remarks == values.pop("remarks")
        assert {name: getattr(entry, name) for name in values} == values
        assert all(remark.why for remark in entry.remarks)


def test_there_are_cases() -> None:
    assert len(CASES) >= 8


@pytest.mark.sshd
@pytest.mark.parametrize("name", ["plain", "wildcards", "windows", "jumps", "quotes"])
def test_ssh_itself_agrees(name: str) -> None:
    """`ssh -G` prints what it would use; it connects nowhere."""
    path = Path(__file__).parent / f"sshconfig_cases/{name}.conf"
    if name == "quotes":  # ssh refuses a file with an open quotation mark as a whole
        kept = [line for line in path.read_text().splitlines() if "no end" not in line]
        text = "\n".join(line for line in kept if line.strip() not in ("Port", "HostName a b"))
    else:
        text = path.read_bytes().decode()
    config = read(text)
    for alias in config.aliases:
        told = subprocess.run(
            ["ssh", "-G", "-F", "/dev/stdin", alias], input=text.encode(), capture_output=True
        )
        assert told.returncode == 0, told.stderr
        rows = [line.partition(" ") for line in told.stdout.decode().splitlines()]
        ssh = {key: value for key, _, value in reversed(rows)}
        entry = config.entry(alias, str(Path.home()))
        assert entry.address == ssh["hostname"]
        assert (entry.port or "22") == ssh["port"]
        assert entry.user in ("", ssh["user"])
        if entry.key_path:
            assert Path(ssh["identityfile"]).expanduser() == Path(entry.key_path)


@pytest.mark.parametrize("keyword", sorted(WHY_NOT))
def test_what_could_do_harm_is_named_and_not_taken(keyword: str) -> None:
    assert keyword not in TAKEN
    entry = read(f"Host gpu\n  {keyword} yes\n").entry("gpu", HOME)
    assert [(r.line, r.what, r.why) for r in entry.remarks] == [(2, keyword, WHY_NOT[keyword])]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "Host NAME"),
        ("HostName 10.0.0.1", "Host NAME"),
        ("Host *\n  User ops", "Host NAME"),
        ("Host gpu\x00\n", "control characters"),
        ("Host gpu\x1b[31m\n", "control characters"),
        ("Host gpu\n" + "#" * MOST, "longer than 64 KiB"),
        ("\n".join(f"Host h{i}" for i in range(ALIASES + 1)), "Paste the entry alone"),
    ],
)
def test_a_text_that_cannot_be_one_is_told(text: str, word: str) -> None:
    config = read(text)
    assert config.aliases == ()
    assert word in config.problem


def test_ten_megabytes_are_refused_at_once() -> None:
    began = time.monotonic()
    assert "longer than" in read("Host a\n" + "x" * 10_000_000).problem
    assert time.monotonic() - began < 1


def test_a_pattern_made_to_be_slow_is_not() -> None:
    began = time.monotonic()
    alias = "a" * 5_000
    config = read(f"Host {alias}\nHost {'a*' * 5_000}b\n  User x\n")
    assert config.entry(alias, HOME).user == ""
    assert time.monotonic() - began < 30


KEYWORDS = ["Host", "Match", *sorted(TAKEN), *sorted(WHY_NOT), "Frob"]
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(['"a b', "'", "*", "!*", "~", "~/k", "~x/k", "%h.x", "%", "%q", "$HOME/k",
                     "[::1]:22", "a,b,c", "exec true", "all", "none", "SSH_AUTH_SOCK", "=", ",,"]),
)  # fmt: skip
LINES = st.builds(
    "{}{}{}".format, st.sampled_from(KEYWORDS), st.sampled_from([" ", "=", " = ", "\t", ""]), VALUES
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(LINES, max_size=12).map("\n".join)))
def test_whatever_the_text_an_answer_comes(text: str) -> None:
    config = read(text)
    assert bool(config.aliases) != bool(config.problem)
    for alias in config.aliases:
        entry = config.entry(alias, HOME)
        assert entry.alias == alias
        for path in (entry.key_path, entry.agent_path):
            assert path == "" or path.startswith("/")
        assert not (entry.key_path and entry.agent_path)
