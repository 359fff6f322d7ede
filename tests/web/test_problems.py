"""Errors as answers."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from docmill.errors import (
    AiQuotaError,
    CrashedError,
    DocmillError,
    MisconfiguredError,
    RateLimitedError,
    TooLargeError,
)
from docmill.testing.steps import PaintedPages
from docmill.web.problems import status_of

Add = Callable[..., Awaitable[UUID]]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TooLargeError("large"), 413),
        (RateLimitedError("often"), 429),
        (AiQuotaError("used up"), 503),
        (CrashedError("died"), 503),
        (MisconfiguredError("wrong"), 500),
    ],
)
def test_the_status_says_what_to_do_next(error: DocmillError, status: int) -> None:
    assert status_of(error) == status


async def test_what_may_work_later_is_unavailable_now(
    client: httpx.AsyncClient, renderer: PaintedPages, add: Add
) -> None:
    document_id = await add()
    renderer.error = CrashedError("the process died; it will be tried again")

    response = await client.get(f"/api/v1/documents/{document_id}/pages/1.webp")

    assert response.status_code == 503
    assert response.json() == {
        "type": "about:blank",
        "title": "Not available at the moment",
        "status": 503,
        "detail": "the process died; it will be tried again",
        "code": "crashed",
    }


async def test_a_fault_of_ours_tells_nothing_of_the_inside_and_is_still_guarded(
    client: httpx.AsyncClient, renderer: PaintedPages, add: Add
) -> None:
    document_id = await add()
    renderer.error = RuntimeError("secret detail")

    response = await client.get(f"/api/v1/documents/{document_id}/pages/1.webp")

    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert "secret" not in response.text
    assert "script-src 'self'" in response.headers["content-security-policy"]


async def test_people_get_a_page(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.web.pages.documents.PAGE_SIZES", {})

    response = await client.get("/")

    assert response.status_code == 500
    assert "Something went wrong here" in response.text
    assert "All documents" in response.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/api/v1/nothing", 404, "not_found"), ("DELETE", "/api/v1/documents", 405, "not_allowed")],
)
async def test_addresses_that_do_not_exist_are_problems_too(
    client: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await client.request(method, path)

    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.json()["detail"].endswith(".")


async def test_a_client_that_goes_in_the_middle_of_a_form_is_no_fault(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    received = iter(
        [{"type": "http.request", "body": b"email=a", "more_body": True}, {"type": "http.disconnect"}]
    )
    sent: list[Message] = []

    async def receive() -> Message:
        return next(received)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/login",
        "raw_path": b"/login",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/x-www-form-urlencoded")],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8080),
    }
    await app(scope, receive, send)

    assert sent[0]["status"] == 400
    assert "Exception" not in caplog.text
