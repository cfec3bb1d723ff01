"""python -m hosts.demo.simulator FLAGS: the engine without a demo node, for a look by hand."""

from __future__ import annotations

import sys

from .server import main

sys.exit(main(sys.argv[1:]))
