"""What the rest of the house asks of an engine, whichever it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from runs.engines.base import JSON, Event, Record
from runs.engines.cache import CacheReset
from runs.engines.smoke import USUAL, Smoke


class LogReader(Protocol):
    """Bytes of a log in, records out; `feed` as it comes, `finish` at the end of the file."""

    def feed(self, data: bytes) -> Sequence[Record]: ...

    def finish(self) -> Sequence[Record]: ...


class Readiness(Protocol):
    """A judgement of a server's answers; `detail` is a sentence, `evidence` what was seen."""

    @property
    def ready(self) -> bool: ...
    @property
    def healthy(self) -> bool: ...
    @property
    def model_ok(self) -> bool: ...
    @property
    def args_ok(self) -> bool: ...
    @property
    def detail(self) -> str: ...
    @property
    def evidence(self) -> dict[str, JSON]: ...


class Engine(Protocol):
    """One inference engine: flags to a command, answers to a judgement, lines to records.

    `flags` maps "--flag" to its value (True for a bare flag); model and port are kept apart,
    since an arm is the same arm on another port.
    """

    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, str]:
        """The flags of the settings that every engine has, by the name of the setting."""
        ...

    @property
    def cache_reset(self) -> CacheReset: ...

    def read_flags(self, words: Sequence[str]) -> dict[str, Any]:
        """Flags from the words of a command line. Raises ValueError naming the flag."""
        ...

    def speculation(
        self, algorithm: str, *, steps: int, topk: int | None, draft: str
    ) -> dict[str, Any]:
        """The flags of speculative decoding; `draft` is the draft model's path, or empty."""
        ...

    def untyped(self, flags: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of `fields` and of `speculation` that these flags say, and the rest.

        Names of the latter: speculative_algorithm, draft_model_path, steps, eagle_topk.
        """
        ...

    def command(self, flags: Mapping[str, Any], *, model: str, port: int) -> list[str]:
        """The words of the launch command. Raises ValueError naming the flag and the reason."""
        ...

    def rerun(
        self, flags: Mapping[str, Any], overrides: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """New flags, and for each flag that had to follow the reason why."""
        ...

    def served_model(self, flags: Mapping[str, Any], *, model: str) -> str:
        """The name by which requests ask for the model."""
        ...

    def expected(
        self,
        flags: Mapping[str, Any],
        *,
        model: str,
        smoke: Smoke = USUAL,
        any_arguments: bool = False,
    ) -> Any:
        """The server meant, for `ready_requests` and `judge`.

        `any_arguments`: somebody else has set them, so they are told and not held against it.
        """
        ...

    def ready_requests(self, expected: Any) -> list[dict[str, JSON]]: ...

    def judge(self, responses: Mapping[str, Mapping[str, object]], expected: Any) -> Readiness: ...

    def log_reader(self, offset: int, lines: int) -> LogReader:
        """A reader for a log of which `offset` bytes and `lines` whole lines were read before."""
        ...

    def startup_facts(self, events: Iterable[Event]) -> dict[str, JSON]: ...

    def explain_crash(self, text: str) -> str | None:
        """Why the server died, by the words in its log; None if nothing is recognised."""
        ...
