"""The API: JSON of what the pages show, for the same people."""

from runs.api.routes import api

__all__ = ["api"]
