"""Show on the demo node that a verdict can be trusted: `make demo-verdicts`.

    python -m scripts.demo_verdicts [--scale 0.1]

Starts the demo on a state folder that is thrown away (no root, embedded Redis, simulated SGLang)
and measures there for about 45 minutes: the same config against itself, steps 1 against 2, and the
counter-experiment of a caveat. Prints what was found; the exit status is 1 if anything of it
is not as it must be. `--scale` multiplies the requests of each level: with 0.1 all is done in
about ten minutes, but windows of four seconds make noisy figures, and words may fail by chance.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path


def main(arguments: list[str]) -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the requests of each level")
    scale: float = parser.parse_args(arguments).scale
    for name in ("REDIS_URL", "DATABASE_URL", "THROUGHLINE_TIME_SCALE"):
        os.environ.pop(name, None)  # servers of its own, and no duration scaled
    with tempfile.TemporaryDirectory(prefix="demo-verdicts-") as scratch:
        return _prove(Path(scratch) / "var", scale)


def _prove(var: Path, scale: float) -> int:
    """Read the demo's own database; settings look for it when the first module is imported."""
    os.environ |= {"THROUGHLINE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    import django

    from scripts.own_demo import demo

    with demo(var) as link:
        django.setup()
        from scripts.proofs import prove

        return prove(link, scale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
