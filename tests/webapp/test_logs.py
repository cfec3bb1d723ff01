"""What may not stand in a log."""

from __future__ import annotations

import logging

import pytest

from webapp.logs import HideTokens


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("/s/abc_DEF-1/", 200), "GET /s/***/ 200"),
        (("/sign-in/abc_DEF-1/?next=/", 403), "GET /sign-in/***/?next=/ 403"),
        (("/sign-in/", 200), "GET /sign-in/ 200"),
        (("/runs/5/", 200), "GET /runs/5/ 200"),
    ],
)
def test_tokens_in_addresses_are_hidden(args: tuple[str, int], said: str) -> None:
    record = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, "GET %s %s", args, None)
    assert HideTokens().filter(record)
    assert record.getMessage() == said
