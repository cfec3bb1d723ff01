"""An environment as it is typed, and as it is shown before a command."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from django import forms

from runs.forms.environment import EnvironmentField, as_words, written

TYPED = """
# the team's own
PATH=/opt/sglang/bin:$PATH
export HF_HOME="/data/a folder"
EMPTY=
"""
READ = {"PATH": "/opt/sglang/bin:$PATH", "HF_HOME": "/data/a folder", "EMPTY": ""}


def test_it_is_read_as_a_person_would_write_it() -> None:
    assert EnvironmentField(required=False).clean(TYPED) == READ
    assert EnvironmentField(required=False).clean(written(READ)) == READ
    assert EnvironmentField(required=False).clean("") == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just words", "is not NAME=value"),
        ("1A=2", "is not NAME=value"),
        ("A=1\nA=2", "stands there twice"),
        ("HF_TOKEN=hf_abcdefghijklmnop", "holds a secret"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(forms.ValidationError, match=why):
        EnvironmentField(required=False).clean(text)


def test_pasted_into_a_shell_it_means_what_the_node_makes_of_it() -> None:
    env = {**READ, "PATH": "/x:$PATH:${PATH}", "ODD": 'a "b" `c` $HOME \\ $ODDER'}
    shown = as_words(env) + "/usr/bin/env"
    outer = {"PATH": "/usr/bin", "HOME": "/nowhere", "ODDER": "not this"}
    told = subprocess.run(
        ["/bin/sh", "-c", shown], env=outer, capture_output=True, text=True, check=True
    ).stdout
    lines = told.splitlines()
    assert "PATH=/x:/usr/bin:/usr/bin" in lines
    assert "HF_HOME=/data/a folder" in lines
    assert 'ODD=a "b" `c` $HOME \\ $ODDER' in lines
    assert shlex.split(as_words({"A": "1"}).replace("\\\n", " ")) == ["A=1"]
