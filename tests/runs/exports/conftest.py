"""Clients for the tests of pages."""

from tests.signed_in import member, stranger

__all__ = ["member", "stranger"]
