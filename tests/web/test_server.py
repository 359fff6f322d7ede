"""Serving the vault in a running loop."""

import asyncio
import signal
import socket

import httpx
import pytest
from fastapi import FastAPI

from docmill.errors import MisconfiguredError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.service.observe.health import VAULT_HEADER
from docmill.web.server import listen, serve

WITH_IPV6 = pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")


def at(settings: Settings, host: str, port: int) -> Settings:
    return settings.model_copy(update={"web": Web(host=host, port=port)})


async def test_it_says_where_it_answers_and_leaves_signals_alone(
    app: FastAPI, settings: Settings, service: Service
) -> None:
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    before = signal.getsignal(signal.SIGTERM)
    task = asyncio.create_task(serve(app, at(settings, "127.0.0.1", 0), stop, ready.set_result))

    address = await asyncio.wait_for(ready, 10)
    async with httpx.AsyncClient() as client:
        response = await client.get(f"{address}healthz")

    assert response.json()["status"] == "ok"
    assert response.headers[VAULT_HEADER] == str(service.vault_id)
    assert signal.getsignal(signal.SIGTERM) == before
    stop.set()
    await asyncio.wait_for(task, 10)


@WITH_IPV6
async def test_the_address_of_ipv6_has_brackets(app: FastAPI, settings: Settings) -> None:
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    task = asyncio.create_task(serve(app, at(settings, "::1", 0), stop, ready.set_result))

    address = await asyncio.wait_for(ready, 10)

    assert address.startswith("http://[::1]:")
    stop.set()
    await asyncio.wait_for(task, 10)


async def test_an_address_that_is_taken_is_a_setup_error(app: FastAPI, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(
            MisconfiguredError, match=rf"port {port}: Address already in use\. .* --port, or web\.port"
        ):
            await serve(app, at(settings, "127.0.0.1", port), asyncio.Event(), print)


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=WITH_IPV6)])
def test_no_packet_of_an_answer_waits_for_the_client(host: str) -> None:
    with (
        listen(host, 0, setting="web.port") as listener,
        socket.create_connection(listener.getsockname()[:2]),
    ):
        accepted, _ = listener.accept()

        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
