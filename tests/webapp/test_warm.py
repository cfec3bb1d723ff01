"""A web process has loaded its pages before it answers."""

from __future__ import annotations

import subprocess
import sys

ASKED = """
import gc
import sys
import webapp.asgi
from django.template import engines
[loader] = engines["django"].engine.template_loaders
print("runs.views.compare" in sys.modules, "runs/compare.html" in loader.get_template_cache,
      gc.get_freeze_count() > 100_000 and gc.isenabled())
"""


def test_views_and_templates_are_loaded_when_it_has_started() -> None:
    told = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True
    ).stdout.split()
    assert told == ["True"] * 3
