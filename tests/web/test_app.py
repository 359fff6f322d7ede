"""The application as a whole: what every answer carries, and whom it answers."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from docmill.errors import MisconfiguredError
from docmill.ports import PageRenderer
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.web.app import create_app
from docmill.web.templating import STATIC, static_version


def client_of(app: FastAPI, host: str = "localhost") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=f"http://{host}")


async def test_it_refuses_to_listen_to_other_machines_in_the_clear(
    service: Service, renderer: PageRenderer, tmp_path: Path
) -> None:
    web = Web(host="0.0.0.0")  # noqa: S104  the address under test
    settings = Settings(data_dir=tmp_path, database_url=SecretStr("postgresql:///unused"), web=web)

    with pytest.raises(MisconfiguredError, match="in the clear"):
        create_app(service, renderer, settings)


@pytest.mark.parametrize("path", ["/", "/nothing-here", "/api/v1/documents", "/healthz"])
async def test_every_answer_forbids_scripts_and_styles_of_others(
    client: httpx.AsyncClient, path: str
) -> None:
    response = await client.get(path)

    policy = response.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080"])
async def test_names_of_this_machine_are_answered(app: FastAPI, host: str) -> None:
    async with client_of(app) as client:
        response = await client.get("/healthz", headers={"host": host})

    assert response.json()["status"] == "ok"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.0.2.1", ""])
async def test_other_names_are_not_answered(app: FastAPI, host: str) -> None:
    async with client_of(app) as client:
        response = await client.get("/healthz", headers={"host": host})

    assert response.status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
    ],
)
async def test_forms_of_other_sites_are_refused(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    response = await client.post("/theme", data={"theme": "dark"}, headers=headers)

    assert response.status_code == 403


@pytest.mark.parametrize("headers", [{}, {"sec-fetch-site": "same-origin"}, {"origin": "http://localhost"}])
async def test_own_forms_and_programs_are_heard(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    response = await client.post("/theme", data={"theme": "dark"}, headers=headers)

    assert response.status_code == 303


async def test_pages_are_compressed(client: httpx.AsyncClient) -> None:
    response = await client.get("/")

    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["cache-control"] == "no-store"


async def test_styles_and_modules_may_be_kept_for_ever(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    address = page.text.partition('src="')[2].partition('"')[0]

    response = await client.get(address)

    assert address.endswith("/app.js")
    assert "immutable" in response.headers["cache-control"]
    assert response.headers["content-type"].startswith("text/javascript")


async def test_the_chosen_theme_is_remembered(client: httpx.AsyncClient) -> None:
    answer = await client.post("/theme", data={"theme": "dark", "next": "/?q=tea"})
    page = await client.get("/")

    assert answer.headers["location"] == "/?q=tea"
    assert '<html lang="en" data-theme="dark">' in page.text


async def test_a_theme_that_does_not_exist_is_not_remembered(client: httpx.AsyncClient) -> None:
    answer = await client.post("/theme", data={"theme": "pink"})
    client.cookies.set("docmill-theme", '"><script>')
    page = await client.get("/")

    assert "set-cookie" not in answer.headers
    assert '<html lang="en" data-theme="auto">' in page.text


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_a_form_leads_back_to_this_vault_only(client: httpx.AsyncClient, target: str) -> None:
    response = await client.post("/theme", data={"theme": "dark", "next": target})

    assert response.headers["location"] == "/"


async def test_static_files_are_sent_compressed_to_who_takes_that(client: httpx.AsyncClient) -> None:
    address = f"/static/{static_version()}/app.js"

    packed = await client.get(address)
    plain = await client.get(address, headers={"accept-encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text == (STATIC / "app.js").read_text()
    for answer in (packed, plain):
        assert "javascript" in answer.headers["content-type"]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
