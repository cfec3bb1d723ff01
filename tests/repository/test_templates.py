"""Every template compiles, with the tags and filters the settings load."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.template.loader import get_template

from tests.repository.places import PACKAGES, ROOT

FOLDERS = [ROOT / "templates", *(ROOT / package / "templates" for package in PACKAGES)]
FILES = sorted((folder, path) for folder in FOLDERS for path in folder.rglob("*.html"))


@pytest.mark.parametrize(
    ("folder", "path"), FILES, ids=[str(path.relative_to(ROOT)) for _, path in FILES]
)
def test_it_compiles(folder: Path, path: Path) -> None:
    assert get_template(str(path.relative_to(folder)))


def test_there_are_templates() -> None:
    assert FILES
