"""What the rest of the house asks of a driver, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from runs.drivers.load_records import LevelEnd, LoadReader
from runs.engines.base import JSON
from runs.engines.cache import USUAL, CacheReset


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of one driver, beside those of every workload. `choices` are for a choice only."""

    name: str
    label: str
    kind: Literal["text", "choice", "real"]
    choices: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True)
class Named:
    """A default or choice that bends the numbers: the field it stands in, and a sentence."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Job:
    """What the node is to start. `argv` and `files` may hold {python}, {kit} and {job_dir}.

    `shown` are the commands as a person would type them, one a level where levels differ.
    `in_server_env`: it starts a tool that lives where the engine lives, in its virtualenv.
    """

    argv: tuple[str, ...]
    files: dict[str, str]
    shown: tuple[tuple[str, ...], ...]
    in_server_env: bool = False


class Driver(Protocol):
    """One way to make load. A workload is a mapping of its set fields; what is not set is absent.

    `settings` of the driver's own stand in the mapping under their names; `prompts` is the text
    of an own prompt file.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def prompt_sets(self) -> tuple[str, ...]:
        """What `prompt_set` may be, the usual one first."""
        ...

    @property
    def settings(self) -> tuple[Setting, ...]: ...

    def start(
        self,
        workload: Mapping[str, object],
        *,
        base_url: str,
        model: str,
        model_path: str,
        reset: CacheReset = USUAL,
    ) -> Job:
        """Give the job. `model` is the name to ask for, `model_path` where its tokenizer is.

        `reset` is how the engine empties its cache.

        Raises WorkloadError naming the field and the reason.
        """
        ...

    def reader(self, offset: int, lines: int) -> LoadReader:
        """A reader of the job's output of which `offset` bytes and `lines` lines were read."""
        ...

    def defaults_named(self, workload: Mapping[str, object]) -> list[Named]:
        """Say what of this workload flatters or distorts, in sentences."""
        ...

    def summary(self, end: LevelEnd, told: bytes) -> dict[str, JSON]:
        """Give a level's figures in base units. `told` is the output from its start to its end."""
        ...
