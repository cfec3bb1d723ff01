"""Who is signed in, for tests in a browser."""

from tests.signed_in import member

__all__ = ["member"]
