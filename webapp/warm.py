"""What a web process loads before it answers: else its first reader waits for it."""

from __future__ import annotations

import gc

from django.conf import settings
from django.template.loader import get_template
from django.urls import reverse


def load_pages() -> None:
    """Import every view, and compile every template of ``templates/``."""
    reverse("overview")
    folder = settings.BASE_DIR / "templates"
    for path in sorted(folder.rglob("*.html")):
        get_template(str(path.relative_to(folder)))
    _look_for_garbage_less_often()


def _look_for_garbage_less_often() -> None:
    """What is loaded by now stays. Looking through it again and again took a seventh of a page."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
