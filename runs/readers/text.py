"""Find out what a text is, and read it."""

from runs.readers.reading import Reading
from runs.readers.results_csv import is_results_csv, read_results_csv
from runs.readers.sglang_text import read_sglang


def read(data: bytes, name: str) -> Reading:
    """Read any text. Nothing raises: what cannot be read is counted, and unknown is a kind."""
    if is_results_csv(data):
        return read_results_csv(data, name)
    return read_sglang(data, name)
