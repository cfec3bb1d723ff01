"""What one printer of lines has open; several may be interleaved in one text."""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from runs.engines.base import JSON
from runs.readers.results.block import Block
from runs.readers.results.failures import FailureCounter
from runs.readers.results.guidellm_text import GuidellmTables
from runs.readers.results.listing import Listing
from runs.readers.results.llmperf_text import LlmperfReport
from runs.readers.results.offline_text import OfflineReport
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.tables import Collector
from runs.readers.results.trtllm_text import TrtllmReport

PROGRESS = re.compile(
    r"[^|]{0,80}?[0-9]{1,3}%\|[^|]{0,200}\|\s*([0-9]{1,9})/([0-9]{1,9}) \[[^\]]{0,60}\]?"
)

Report: TypeAlias = TrtllmReport | OfflineReport | LlmperfReport


@dataclass(slots=True)
class Source:
    """`settings` are those of the client that runs, `caption` the last lines that were nothing."""

    name: str | None
    settings: dict[str, JSON] = field(default_factory=dict)
    label: str | None = None
    block: Block | None = None
    report: Report | None = None
    guide: GuidellmTables | None = None
    table: Collector | None = None
    listing: Listing | None = None
    warms_up: bool = False
    console: RowBuilder | None = None
    caption: list[str] = field(default_factory=list)
    failures: FailureCounter = field(default_factory=FailureCounter)
    progress: tuple[int, int] | None = None
    started: Place | None = None
    whole: bool = False  # the command came to the end of its line
    command: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    json_place: Place | None = None

    @property
    def caption_text(self) -> str:
        """The last lines that were nothing, the nearest first."""
        return "\n".join(line for line in reversed(self.caption) if line.strip())
