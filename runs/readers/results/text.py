"""Results in a text that may hold anything: blocks, tables, JSON lines, commands, progress bars.

`TextResults` is fed line by line, so that a log of any length costs no memory here.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from runs.engines.base import JSON, Damaged
from runs.engines.feed import LineFeed, Position
from runs.readers.results import aiperf_console, client
from runs.readers.results.base import Failure, ResultReading, ResultRow
from runs.readers.results.block import TITLE, Block, opens_block
from runs.readers.results.columns import is_heading
from runs.readers.results.comparison import accept_lens, caption_settings
from runs.readers.results.failures import HINTS, FailureCounter
from runs.readers.results.finishing import (
    failed_row,
    label_of,
    same_settings,
    sourced,
    with_adapters,
    with_defaults,
    with_failed,
    without_bar,
)
from runs.readers.results.guidellm_text import RULE as GUIDELLM_RULE
from runs.readers.results.guidellm_text import GuidellmTables
from runs.readers.results.json_records import SERVER_INFO, read_records
from runs.readers.results.jsondoc import DOCUMENT_LIMIT, documents, read_object
from runs.readers.results.listing import WARM_UP, opens_listing
from runs.readers.results.llmperf_text import opens_llmperf
from runs.readers.results.offline_text import OfflineReport, opens_offline
from runs.readers.results.rows import Place, mark_attempts, shared
from runs.readers.results.source import PROGRESS, Report, Source
from runs.readers.results.table_rows import read_table
from runs.readers.results.tables import Table, opens_table
from runs.readers.results.tools import JSON_TOOLS
from runs.readers.results.trtllm_text import TITLE as TRTLLM_TITLE
from runs.readers.results.trtllm_text import TrtllmReport
from runs.readers.words import names_one

_REMARK = re.compile(r"\s{0,4}(?:#{1,6}|//|--|>)\s+(\S.{0,200})")
_NO_LABEL = re.compile(r"-|/\S*\s*\Z")  # a flag that is switched off, a file's path
_NAMES = (
    "bench",
    "aiperf",
    "genai-perf",
    "guidellm",
    "inference-perf",
    "Namespace(",
    "token_benchmark",
)
_CAPTION_LINES = 3
_CAPTION_LIMIT = 400
_COMMAND_LINES = 200
_JSON_LINES = 100_000
_CLOSES = {"{": "}", "[": "]"}
_TOOLS = (*JSON_TOOLS, SERVER_INFO)


class TextResults:
    """Takes lines in order; `finish` gives all rows, in the order in which they began."""

    def __init__(self) -> None:
        self._sources: dict[str | None, Source] = {}
        self._rows: list[ResultRow] = []
        self._damaged: list[Damaged] = []
        self._failures: list[Failure] = []
        self._told: dict[str, JSON] = {}
        self._ignored = 0

    def take(
        self,
        text: str,
        offset: int,
        line: int,
        *,
        terminated: bool = True,
        source: str | None = None,
    ) -> bool:
        """Take one line without its carrier; tell whether it belongs to a result.

        `terminated`: its newline came. `source`: who printed it, where several did.
        """
        state = self._sources.setdefault(source, Source(source))
        place, taken = Place(offset, line), False
        text = text.rstrip("\n")
        parts = text.split("\r") if "\r" in text else [text]
        for index, part in enumerate(parts):
            ends = terminated or index < len(parts) - 1
            if part.strip() or len(parts) == 1:
                taken |= self._part(state, part, place, ends)
        return taken

    def finish(self) -> ResultReading:
        """End every open block and table, and give what was found."""
        for state in self._sources.values():
            if state.command:
                # The text ended inside of a command: its last word may be cut.
                whole, state.command = " ".join(state.command), []
                self._client(state, whole, Place(0, 1), False)
            self._close_table(state)
            self._close_listing(state)
            self._close_results(state)
            self._end_client(state)
        rows = sorted(self._rows, key=lambda row: (row.line, row.offset))
        rows = with_defaults(mark_attempts(with_adapters(rows)))
        context = shared(row.context for row in rows)
        return ResultReading(
            rows=tuple(rows),
            context={**self._told, **context},
            damaged=tuple(self._damaged),
            failures=tuple(self._failures),
            ignored_lines=self._ignored,
        )

    def _part(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        self._indented_json(state, text, place)
        if self._listed(state, text, place, terminated):
            return True
        if text.lstrip()[:2] == "==" and TITLE.match(text.strip()):
            self._close_results(state)
            state.block = Block(place)
            return True
        for opened in (state.block, state.report, state.guide):
            if opened is not None and opened.take(text, place, terminated=terminated):
                if state.block is not None and state.block.ended:
                    self._close_results(state)
                return True
        if state.report is not None:
            self._close_results(state)
        return self._opens(state, text, place, terminated)

    def _listed(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        """Go on with an open table or list, or end it."""
        if state.table is not None:
            if state.table.take(text, place, terminated=terminated):
                return True
            self._close_table(state)
        if state.listing is not None:
            if state.listing.take(text, terminated=terminated):
                return True
            if not state.listing.goes_on(text):
                self._close_listing(state)
        return False

    def _opens(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        """See whether the line begins something, or says something of what is to come."""
        stripped = text.strip()
        if state.command:
            return self._goes_on(state, text, place, terminated)
        if not stripped:
            return False
        report = _opened_report(text, place)
        if report is not None:
            self._close_results(state)
            state.report = report
            return not isinstance(report, OfflineReport) or report.take(
                text, place, terminated=terminated
            )
        if stripped[:3] == "|==" and GUIDELLM_RULE.match(text):
            self._close_results(state)
            state.guide = GuidellmTables(place)
            return state.guide.take(text, place, terminated=terminated)
        if state.block is None and opens_block(text):
            state.block = Block(place)
            return state.block.take(text, place, terminated=terminated)
        if (stripped[0] == "{" or stripped[:2] == "[{") and self._json(state, text, place):
            return True
        if stripped[0] in "|+│┃┏┌╔╒║" or is_heading(text):
            state.table = opens_table(text, place, terminated=terminated)
            if state.table is not None:
                return state.table.take(text, place, terminated=terminated)
        return self._says(state, text, place, terminated)

    def _says(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        """See whether a line begins a list, is a client's command or tells of a failure."""
        if state.listing is None and state.block is None and terminated:
            state.listing = opens_listing(text, place)
            if state.listing is not None:
                return state.listing.take(text, terminated=terminated)
        if names_one(text, _NAMES):
            if text.rstrip()[-1] == "\\":
                return self._goes_on(state, text, place, terminated)
            if self._client(state, text, place, terminated):
                return True
        if names_one(text, HINTS):
            running = state.started is not None
            if state.failures.take(without_bar(text), place, in_client=running):
                return True
        return self._remark(state, text, terminated)

    def _goes_on(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        """Take a line of a command that goes on over several, each but the last ending in a \\."""
        more = text.rstrip().endswith("\\") and len(state.command) < _COMMAND_LINES
        state.command.append(text.rstrip().rstrip("\\"))
        if more and terminated:
            return True
        whole, state.command = " ".join(state.command), []
        return self._client(state, whole, place, terminated)

    def _client(self, state: Source, text: str, place: Place, terminated: bool) -> bool:
        found = client.read_client(text, terminated=terminated)
        if found is None:
            return False
        if state.console is not None:
            aiperf_console.add_settings(state.console, found.settings)
            return True
        if "Namespace(" not in text or not same_settings(state.settings, found.settings):
            self._close_results(state)
        tool = found.tool or state.settings.get("tool")
        state.settings = {**found.settings, **({"tool": tool} if tool else {})}
        state.started, state.whole = state.started or place, terminated
        return True

    def _json(self, state: Source, text: str, place: Place) -> bool:
        if len(text) > DOCUMENT_LIMIT:
            return False
        taken = False
        for _, found in documents(text.encode("utf-8", "replace")):
            if isinstance(found, Damaged):
                continue
            given = read_object(found, place, _TOOLS)
            rows = given[0] if given is not None else read_records(found, place)
            self._rows += [sourced(row, state) for row in rows]
            if given is not None and not rows:
                self._told |= given[1]
            taken |= given is not None or bool(rows)
        return taken

    def _indented_json(self, state: Source, text: str, place: Place) -> None:
        """Collect an object or a list laid out over lines, to its end in the first column."""
        if state.json_place is not None:
            state.json.append(text)
            ends = text.rstrip() == _CLOSES[state.json[0]]
            if ends:
                self._json(state, "\n".join(state.json), state.json_place)
            if ends or len(state.json) > _JSON_LINES:
                state.json, state.json_place = [], None
        elif text.rstrip() in _CLOSES:
            state.json, state.json_place = [text.rstrip()], place

    def _remark(self, state: Source, text: str, terminated: bool) -> bool:
        """Remember what may name or explain the next result; such a line is no part of one."""
        duration = aiperf_console.DURATION.search(text) if state.console is not None else None
        if duration and state.console is not None and (terminated or text[-1:].isspace()):
            value = duration[1].replace(",", "")
            unit = "s" if duration[2] == "sec" else duration[2]
            state.console.put("duration_s", value, "Benchmark Duration", unit)
            return True
        warm_up = WARM_UP.match(text) if "Warmup" in text else None
        if warm_up:
            state.warms_up = warm_up[1] == "Begin"
        bar = PROGRESS.match(text) if "%|" in text else None
        if bar:
            state.progress = (int(bar[1]), int(bar[2]))
            return False
        remark = _REMARK.match(text) if text.lstrip()[:1] in "#/->" else None
        if remark and terminated:
            flags = client.read_flags(remark[1])
            if flags:
                self._close_results(state)
                state.settings = {**state.settings, **flags}
            elif not _NO_LABEL.match(remark[1]):
                state.label = label_of(remark[1])
        if len(text) < _CAPTION_LIMIT and terminated:
            if "ccept" in text or "接受" in text:
                self._told |= accept_lens(text)
            state.caption = [*state.caption[1 - _CAPTION_LINES :], text]
        return False

    def _close_table(self, state: Source) -> None:
        collector, state.table = state.table, None
        if collector is None:
            return
        table = collector.table()
        if table is None:
            # A sentence that only looked like a header may be the caption of the next table.
            state.caption = [*state.caption[1 - _CAPTION_LINES :], " ".join(collector.header)]
        if table is None or not self._table(state, table):
            self._ignored += len(collector.rows)
        else:
            state.caption = []

    def _close_listing(self, state: Source) -> None:
        """End a list of quantities; lines that make no result say what they say alone."""
        listing, state.listing = state.listing, None
        if listing is None:
            return
        rows = [] if state.warms_up else listing.rows(state.caption_text, state.settings)
        if rows:
            self._close_results(state)
            self._rows += [sourced(row, state) for row in rows]
            state.label, state.started, state.caption = None, None, []
            return
        self._ignored += len(listing.taken)
        for text in listing.taken:
            self._remark(state, text, True)

    def _table(self, state: Source, table: Table) -> bool:
        if aiperf_console.is_console(table):
            console = aiperf_console.console_row(table)
            if state.console is not None and aiperf_console.merge(state.console, console):
                return True
            self._close_results(state)
            state.console = console
            aiperf_console.add_settings(state.console, state.settings)
            return True
        caption = state.caption_text
        told = {**state.settings, **caption_settings(caption)}
        rows = read_table(table, caption, told)
        label, state.label = state.label, None  # a heading above a table names no run
        self._rows += [sourced(row, state) for row in rows or []]
        state.label = label
        return rows is not None

    def _close_results(self, state: Source) -> None:
        """End the open block, report or console table of this source."""
        for opened in (state.block, state.report):
            if opened is not None:
                row = opened.row(state.settings)
                self._damaged += opened.damaged
                if row is not None:
                    row = with_failed(sourced(row, state), state.progress)
                    self._rows.append(row)
                    self._fail(state, row.value("failed"))
        if state.console is not None:
            self._rows.append(sourced(state.console.done(), state))
        if state.guide is not None:
            self._rows += [sourced(row, state) for row in state.guide.rows(state.settings)]
        if state.block or state.report or state.console or state.guide:
            state.label = state.started = state.progress = None
        state.block = state.report = state.console = state.guide = None

    def _end_client(self, state: Source) -> None:
        """Settle a client that began and printed no result: its point failed."""
        if state.started is None:
            self._fail(state, None)
            return
        told = {key: value for key, value in state.settings.items() if key != "tool"}
        # Of a cut command it is not known what it would have overruled.
        usual = client.defaults(str(state.settings.get("tool")), told) if state.whole else {}
        self._told = {**told, **({"defaults": usual} if usual else {}), **self._told}
        if state.progress:
            self._told["progress"] = [*state.progress]
        ended = state.failures.of_client()
        failed = state.failures.requests
        self._fail(state, None)
        self._failures += ended
        if failed or ended:
            self._rows.append(sourced(failed_row(state, state.started, failed), state))

    def _fail(self, state: Source, failed: float | None) -> None:
        found = state.failures.of_result(failed)
        if not found and failed:
            row = self._rows[-1]
            text = f"{failed:.0f} requests failed"
            found = [Failure(text, int(failed), row.offset, row.line)]
        self._failures += found
        state.failures = FailureCounter()


def _opened_report(text: str, place: Place) -> Report | None:
    """Give the report that a line begins; an offline tool's first line is its first figure, too."""
    stripped = text.strip()
    if stripped[:2] == "= " and TRTLLM_TITLE.match(stripped):
        return TrtllmReport(place)
    return OfflineReport(place) if opens_offline(text) else opens_llmperf(text, place)


def read_text(data: bytes) -> ResultReading:
    """Read a whole text, such as the output of a client."""
    reader, ignored = TextResults(), 0
    for text, offset, line, terminated in _lines(data):
        taken = reader.take(text, offset, line, terminated=terminated)
        ignored += not taken and bool(text.strip())
    found = reader.finish()
    return replace(found, ignored_lines=found.ignored_lines + ignored)


def _lines(data: bytes) -> Iterator[tuple[str, int, int, bool]]:
    feed = LineFeed(Position(0, 1, b"", 0), DOCUMENT_LIMIT)
    for line in [*feed.push(data.removeprefix(b"\xef\xbb\xbf")), *feed.rest()]:
        yield line.raw.decode("utf-8", "replace"), line.offset, line.line, line.terminated
