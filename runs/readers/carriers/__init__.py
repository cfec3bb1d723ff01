"""What carries a line: journal, containers, JSON, colours, quotes. Each is taken off in turn.

`Carriers().unwrap(raw)` gives what the program printed and where it came from.
"""

from runs.readers.carriers.base import PLAIN, Carried, Origin
from runs.readers.carriers.unwrap import Carriers

__all__ = ["PLAIN", "Carried", "Carriers", "Origin"]
