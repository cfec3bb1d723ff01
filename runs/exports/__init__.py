"""A comparison as text for other places: a pull request, a spreadsheet, a program.

Pure: the description of ``runs.snapshots`` comes in, text goes out. The page shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs.exports.jsontext import as_json
from runs.exports.markdown import as_markdown
from runs.exports.table import as_csv


@dataclass(frozen=True)
class Format:
    """``write`` takes the description and the address it is a copy of, which may be empty."""

    suffix: str
    words: str
    media: str
    write: Callable[[Mapping[str, Any], str], str]


FORMATS = {
    "markdown": Format("md", "Markdown, for a pull request", "text/markdown", as_markdown),
    "csv": Format("csv", "CSV, for a spreadsheet", "text/csv", as_csv),
    "json": Format("json", "JSON, for a program", "application/json", as_json),
}
