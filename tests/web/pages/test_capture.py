"""The page that photographs documents, and what browsers fetch of it without a person."""

import json
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import is_form_token
from docmill.web.templating import STATIC
from support.people import PASSWORD


@pytest.fixture
async def session(service: Service) -> str:
    anna = await service.accounts.create_first(NewPerson("anna@example.org", "Anna Quay", PASSWORD), "Acme")
    return (await service.sign_in.begin_session(anna, Visitor())).token


@pytest.fixture
async def anna(app: FastAPI, session: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    cookies = {"docmill-session": session}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies) as client:
        yield client


async def test_the_page_that_is_kept_on_the_device_names_nobody(
    anna: httpx.AsyncClient, session: str
) -> None:
    page = await anna.get("/capture")
    shell = await anna.get("/capture/shell?language=de")

    assert "Anna Quay" in page.text
    assert shell.status_code == 200
    assert "Anna" not in shell.text
    assert "Acme" not in shell.text
    tokens = re.findall(r'name="form_token" value="(\w+)"', shell.text)
    assert not any(is_form_token(token, session) for token in tokens)
    assert '<html lang="de"' in shell.text


async def test_a_page_from_the_device_finds_out_who_sends(
    anna: httpx.AsyncClient, client: httpx.AsyncClient, session: str, service: Service
) -> None:
    answer = await anna.get("/capture/session")
    stranger = await client.get("/capture/session")

    content = answer.json()
    assert answer.headers["cache-control"] == "no-store"
    assert content["owner"].startswith(f"{service.default_tenant_id}:")
    assert content["name"] == "Anna Quay, Acme"
    assert is_form_token(content["form_token"], session)
    assert stranger.status_code == 401


async def test_the_service_worker_and_the_manifest_name_files_that_are_there(
    client: httpx.AsyncClient,
) -> None:
    worker = await client.get("/capture-worker.js?language=de")
    manifest = await client.get("/capture.webmanifest?language=de")

    assert worker.headers["content-type"].startswith("text/javascript")
    module = re.search(r'from "(/static/\w+/capture-worker\.js)"', worker.text)
    assert module is not None
    assert (await client.get(module[1])).status_code == 200
    assert "/capture/shell?language=de" in worker.text
    assert manifest.headers["content-type"].startswith("application/manifest+json")
    content = json.loads(manifest.text)
    assert content["description"] == "Dokumente fotografieren"
    assert {icon["purpose"] for icon in content["icons"]} == {"any", "maskable"}
    for icon in content["icons"]:
        assert (await client.get(icon["src"])).headers["content-type"] == "image/png"


async def test_the_policy_allows_the_manifest_and_nothing_of_others(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/capture")).headers["content-security-policy"]

    assert "manifest-src 'self'" in policy
    assert "default-src 'none'" in policy


def test_the_modules_that_the_service_worker_keeps_can_be_found_by_their_imports() -> None:
    # The worker follows imports of the form `from "./name.js"`; others it would not see.
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        imports = re.findall(r'^(?:import|export) .*? from "([^"]+)";$', text, re.MULTILINE | re.DOTALL)
        assert all(re.fullmatch(r"\./[\w-]+\.js", name) for name in imports), path.name
