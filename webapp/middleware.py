"""What no page has to think of."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware


@sync_and_async_middleware
def no_nul(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Refuse an address with a NUL in its parameters: PostgreSQL takes no text that holds one.

    Forms refuse it by themselves; a filter that stands in an address is no form.
    """

    def refuse(request: HttpRequest) -> None:
        if "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("An address holds no NUL.")

    def answer(request: HttpRequest) -> Any:
        refuse(request)
        return get_response(request)

    async def answer_async(request: HttpRequest) -> Any:
        refuse(request)
        return await get_response(request)

    return answer_async if iscoroutinefunction(get_response) else answer
