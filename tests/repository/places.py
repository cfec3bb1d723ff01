"""Where the repository's own files are, for the tests that guard them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("webapp", "people", "hosts", "runs")


def python_files(*folders: str) -> list[Path]:
    """Every Python file below ``folders``, migrations included, in a stable order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
