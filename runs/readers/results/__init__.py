"""Results of benchmark clients: files, blocks and tables to rows. Pure: bytes in, values out.

`read_results(data)` reads a file that is nothing but results. `TextResults` takes the lines of a
text that holds other things, too. `field_case_row` writes a row in the words of the exchange form.
"""

from runs.readers.results.base import Failure, Metric, ResultReading, ResultRow
from runs.readers.results.case_row import field_case_row
from runs.readers.results.registry import FORMATS, Format, find_format, read_results
from runs.readers.results.text import TextResults, read_text

__all__ = [
    "FORMATS",
    "Failure",
    "Format",
    "Metric",
    "ResultReading",
    "ResultRow",
    "TextResults",
    "field_case_row",
    "find_format",
    "read_results",
    "read_text",
]
