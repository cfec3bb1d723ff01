"""What a web process loads before it answers: else its first reader waits for it."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import get_template
from django.urls import reverse


def load_pages() -> None:
    """Import every view, and compile every template of ``templates/``."""
    reverse("overview")
    folder = settings.BASE_DIR / "templates"
    for path in sorted(folder.rglob("*.html")):
        get_template(str(path.relative_to(folder)))
