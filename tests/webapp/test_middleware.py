"""Addresses that no database can be asked with."""

from __future__ import annotations

import pytest
from django.test import AsyncClient, Client

pytestmark = pytest.mark.django_db

ADDRESSES = [
    "/runs/?text=%00",
    "/runs/?host=a%00&state=b",
    "/notes/?tag=%00",
    "/compare/?arms=1&find=%00",
    "/?%00=1",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_nul_in_an_address_is_refused(admin_client: Client, address: str) -> None:
    assert admin_client.get(address).status_code == 400


async def test_that_of_a_stream_is_refused_too(async_client: AsyncClient) -> None:
    assert (await async_client.get("/runs/1/stream?after=%00")).status_code == 400


def test_an_escaped_per_cent_is_no_nul(admin_client: Client) -> None:
    assert admin_client.get("/runs/?text=%2500").status_code == 200
