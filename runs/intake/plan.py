"""The shape of an import before anything is stored: arms, their launches, their levels."""

from collections.abc import Mapping
from dataclasses import dataclass

from runs.caveats.base import Finding
from runs.engines.base import JSON, Damaged, Event, Request, Sample
from runs.readers.reading import Reading
from runs.readers.results.base import ResultRow


@dataclass(frozen=True, slots=True)
class Text:
    """One text of an import and what it says. `name` is its file's name."""

    name: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Hints:
    """What a person, or a file beside the texts, says of them. Nothing here is measured.

    `names` gives a file's stem ('steps-3') the name of its arm, `settings` what the client sent
    where its tag ends so ('_t07': {'temperature': 0.7}). `server` holds engine and model.
    """

    names: Mapping[str, str]
    settings: Mapping[str, Mapping[str, JSON]]
    server: Mapping[str, str]
    only: str = ""  # the name of the arm, if there is one only


NO_HINTS = Hints(names={}, settings={}, server={})


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of an arm's server; `engine` and `model` are 'unknown' where nobody said.

    `untyped` are flags that are not known here by type; they are kept as they were written.
    """

    engine: str
    model: str
    flags: dict[str, JSON]
    env: dict[str, JSON]
    effective: dict[str, JSON]
    untyped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """How load was made; None is unknown. `extra` holds what has no name of its own here."""

    driver: str
    driver_settings: dict[str, JSON]
    cache_policy: str
    prompt_set: str
    input_tokens: int | None
    max_tokens: int | None
    temperature: float | None
    ignore_eos: bool | None
    seed: int | None
    warmup_requests: int | None
    extra: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Window:
    """Where in a log one client run stands: lines [begin, end), epoch-like seconds as printed."""

    begin: int
    end: int
    start: float | None
    stop: float | None
    flushed: bool  # the server's cache was flushed, and its counters reset, at the start


@dataclass(frozen=True, slots=True)
class PlannedLevel:
    """A point: its latest row, and the rows of earlier attempts at it."""

    row: ResultRow
    earlier: tuple[ResultRow, ...]
    window: Window | None
    accept_len: float | None
    running: float | None
    waiting: float | None


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch: its part of a log (`log` is the text's place) and what clients measured.

    `source` is who printed it and `lines` where, [begin, end), in a text of several launches.
    Several workloads on one launch are several of these: the `main` one has the log, the others
    only the lines of their own windows. `clients` are the places of texts with its rows, `loose`
    are rows without a concurrency, `died` is why it ended, if badly.
    """

    log: int | None
    source: str | None
    lines: tuple[int, int]
    main: bool
    clients: tuple[int, ...]
    samples: tuple[Sample, ...]
    events: tuple[Event, ...]
    damaged: tuple[Damaged, ...]
    requests: tuple[Request, ...]
    levels: tuple[PlannedLevel, ...]
    loose: tuple[ResultRow, ...]
    findings: tuple[Finding, ...]
    died: str


@dataclass(frozen=True, slots=True)
class PlannedArm:
    name: str
    server: Server
    client: Client
    launches: tuple[PlannedLaunch, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import will make. `host` is the name the texts give the machine, if they do."""

    arms: tuple[PlannedArm, ...]
    host: str | None
    gpus: dict[str, JSON]

    @property
    def launches(self) -> int:
        return sum(len(arm.launches) for arm in self.arms)

    @property
    def levels(self) -> int:
        return sum(len(launch.levels) for arm in self.arms for launch in arm.launches)
