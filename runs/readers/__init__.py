"""Any pasted or uploaded text to records, whatever carries it. Pure: bytes in, values out."""

from runs.readers.reading import Reading, Row
from runs.readers.text import read

__all__ = ["Reading", "Row", "read"]
