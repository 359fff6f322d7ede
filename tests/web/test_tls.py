"""Serving by TLS, with a certificate of the settings."""

import asyncio
import ssl
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.web.security import check_host
from docmill.web.server import serve
from support.certificates import made_certificate


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """See `made_certificate`."""
    return made_certificate(tmp_path)


def settings_with(settings: Settings, **web: object) -> Settings:
    return settings.model_copy(update={"web": Web.model_validate({"port": 0, **web})})


async def test_pages_are_served_by_tls(
    app: FastAPI, settings: Settings, certificate: tuple[Path, Path]
) -> None:
    own = settings_with(settings, tls_certificate=certificate[0], tls_key=certificate[1])
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, own, stop, ready.set_result))
        address = (await ready).replace("127.0.0.1", "localhost")
        context = ssl.create_default_context(cafile=str(certificate[0]))
        async with httpx.AsyncClient(verify=context, timeout=60) as client:
            answer = await client.get(f"{address}healthz", headers={"x-forwarded-proto": "http"})
        stop.set()

    assert address.startswith("https://")
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"]


async def test_a_certificate_that_cannot_be_used_is_named(
    app: FastAPI, settings: Settings, certificate: tuple[Path, Path]
) -> None:
    own = settings_with(settings, tls_certificate=certificate[1], tls_key=certificate[1])

    with pytest.raises(MisconfiguredError, match=r"web\.tls_certificate"):
        await serve(app, own, asyncio.Event(), lambda _: None)


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(ValidationError, match="together"):
        Web(tls_certificate=Path("vault.pem"))


@pytest.mark.parametrize(
    ("web", "is_safe"),
    [
        ({"host": "127.0.0.1"}, True),
        ({"host": "0.0.0.0"}, False),  # noqa: S104  the address under test
        ({"host": "192.0.2.1", "trusted_proxies": ["192.0.2.0/24"]}, True),
        ({"host": "192.0.2.1", "tls_certificate": "a", "tls_key": "b"}, True),
    ],
)
def test_passwords_never_cross_a_network_in_the_clear(web: dict[str, object], *, is_safe: bool) -> None:
    if is_safe:
        check_host(Web.model_validate(web))
        return
    with pytest.raises(MisconfiguredError, match="in the clear"):
        check_host(Web.model_validate(web))
