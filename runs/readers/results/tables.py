"""Tables in a text: Markdown, psql, grids, boxes, CSV, tabs, and columns set by blanks."""

import csv
import re
from dataclasses import dataclass, field

from runs.readers.results.columns import read_heading
from runs.readers.results.comparison import is_grid
from runs.readers.results.rows import Place

_BORDER = re.compile(r"[\s+|:=\-─━═┌┬┐├┼┤└┴┘┏┳┓┡╇┩┗┻┛┠╋┨╒╤╕╞╪╡╘╧╛╔╦╗╠╬╣╚╩╝┞╀┦╟╫╢]{3,}\Z")
_HEAD_BORDER = re.compile(r"\s*(?:\+=|[┡╞╠┞]|\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z)")
_EDGE = re.compile(r"[|│┃║]")
_LINE_LIMIT = 20_000
# vLLM writes a list with an entry a request into one cell.
_CSV_LINE_LIMIT = 8_000_000
_ROWS_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of one row; `cut` says that the last one touched the end of the text."""

    cells: tuple[str, ...]
    place: Place
    cut: bool


@dataclass(frozen=True, slots=True)
class Table:
    style: str
    header: tuple[str, ...]
    rows: tuple[TableRow, ...]
    place: Place


@dataclass(slots=True)
class Collector:
    """Takes the lines of one table until a line is none of it."""

    style: str
    place: Place
    delimiter: str = ","
    header: list[str] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)
    header_done: bool = False
    indexed: bool = False
    open_edges: bool = False  # bars stand between cells only: psql, and much of Markdown

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        limit = _CSV_LINE_LIMIT if self.style == "csv" else _LINE_LIMIT
        if not text.strip() or len(self.rows) >= _ROWS_LIMIT or len(text) > limit:
            return False
        if self.style in ("csv", "plain"):
            return self._take_line(text, place, terminated)
        if _BORDER.match(text):
            self.header_done |= self._ends_header(text)
            return True
        if self.open_edges and "|" in text:
            self._add(*_between(text, terminated), place)
            return True
        if not _EDGE.match(text.strip()):
            return False
        self._add(*_edged(text, terminated), place)
        return True

    def _ends_header(self, text: str) -> bool:
        """A grid without a double rule ends its header at the first rule below a row."""
        return bool((self.header or self.rows) and (_HEAD_BORDER.match(text) or "+-" in text))

    def _take_line(self, text: str, place: Place, terminated: bool) -> bool:
        if self.style == "plain" and re.fullmatch(r"[\s\-=]{3,}", text):
            return True
        if self.style == "csv":
            cells = _split_csv(text, self.delimiter)
        elif not terminated:
            return bool(self.header)  # which of its cells are there cannot be told
        else:
            cells = self._blanks(text)
        if cells is None:
            return False
        if self.style == "csv" and self.header and (len(cells) < 2 or cells[0][:1] == "{"):
            return False  # an object is no row, though commas are in it
        closed = terminated or text[-1:] in (self.delimiter, '"') or text[-1:].isspace()
        if not closed:
            cells = cells[:-1]
        self._add(cells, not closed, place)
        return True

    def _blanks(self, text: str) -> list[str] | None:
        """Split a row at blanks. A data frame's index is left out, in all rows or in none."""
        if not self.header:
            return _wide(text)
        for cells in (_wide(text) or [], text.split()):
            extra = len(cells) - len(self.header)
            if extra == (1 if self.indexed else 0) and (self.rows or extra == 0):
                return cells[extra:]
            if extra == 1 and not self.rows and cells[0].isdigit():
                self.indexed = True
                return cells[1:]
        return None

    def _add(self, cells: list[str], cut: bool, place: Place) -> None:
        if not self.header and not cut:
            self.header = cells
            self.header_done = self.style in ("csv", "plain")
        elif not self.header_done and not self.rows and not cut:
            # A heading that is folded over several lines.
            self.header = [
                " ".join(p for p in pair if p) for pair in zip(self.header, cells, strict=False)
            ]
        elif self._folds(cells):
            last = self.rows[-1]
            first = f"{last.cells[0]} {cells[0]}".strip()
            self.rows[-1] = TableRow((first, *last.cells[1:]), last.place, last.cut)
        elif self.header:
            self.rows.append(TableRow(tuple(cells), place, cut))

    def _folds(self, cells: list[str]) -> bool:
        """A first cell alone continues the name above it."""
        return bool(
            self.style == "box" and self.rows and len(cells) > 1 and cells[0] and not any(cells[1:])
        )

    def table(self) -> Table | None:
        """Give the table, None when it has no whole header or no row."""
        if not self.header or not self.header_done or not self.rows:
            return None
        return Table(self.style, tuple(self.header), tuple(self.rows), self.place)


def _edged(text: str, terminated: bool) -> tuple[list[str], bool]:
    stripped = text.strip()
    cells = [cell.strip() for cell in _EDGE.split(stripped)[1:]]
    if _EDGE.match(stripped[-1:]):
        return cells[:-1], False
    # The last cell is not closed: it counts only if its line was.
    return (cells, False) if terminated else (cells[:-1], True)


def _between(text: str, terminated: bool) -> tuple[list[str], bool]:
    cells = [cell.strip() for cell in text.strip().removeprefix("|").split("|")]
    # The last cell is not closed: it counts only if its line was.
    return (cells, False) if terminated else (cells[:-1], True)


def _split_csv(text: str, delimiter: str) -> list[str] | None:
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, strict=True))]
    except (csv.Error, StopIteration):
        return None


def _wide(text: str) -> list[str] | None:
    """Split a header at two blanks or more; its words may have single ones in them."""
    cells = re.split(r"\s{2,}|\t", text.strip())
    return cells if len(cells) >= 2 else None


def opens_table(text: str, place: Place, *, terminated: bool) -> Collector | None:
    """Give a collector when the line begins a table, None otherwise."""
    if len(text) > _LINE_LIMIT:
        return None
    stripped = text.strip()
    if stripped[:1] in "┏┌╔╒│┃║" and stripped:
        return Collector("box", place)
    if stripped[:1] == "|" and _EDGE.search(stripped[1:]):
        return Collector("markdown", place)
    if stripped.startswith(("+-", "+=")):
        return Collector("grid", place)
    if not terminated:
        return None
    for delimiter in (",", "\t", ";"):
        if delimiter in stripped and _is_header(_split_csv(stripped, delimiter)):
            return Collector("csv", place, delimiter)
    if "|" in stripped and _is_header(_between(stripped, True)[0]):
        return Collector("markdown", place, open_edges=True)
    words = _wide(stripped)
    return Collector("plain", place) if words and _is_header(words) else None


def _is_header(cells: list[str] | None) -> bool:
    """A line is a header when most of its cells are known words and none is a number."""
    if cells is None or len(cells) < 2 or len(cells) > 500:
        return False
    words = {each.lower() for each in cells}
    if cells[0].lower() in ("metric", "statistic") and words & {"avg", "value"}:
        return True
    if is_grid(cells) and not all(cell.isdigit() for cell in cells[1:]):
        return True
    known = [read_heading(cell) for cell in cells]
    named = {each.key for each in known if each and each.key != "index"}
    if any(re.fullmatch(r"[-+]?[0-9.,]+", cell) for cell in cells):
        return False
    metrics = named - {"concurrency", "arm", "model", "steps"}
    return bool(metrics) and len(named) >= 2 and len(named) * 5 >= len(cells)
