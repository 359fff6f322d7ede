"""The web applications: the vault's pages and API, and the probes of a worker."""

import asyncio
import gzip
from collections.abc import Mapping
from functools import cache
from mimetypes import guess_type
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.ports import PageRenderer
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import NoUnlocker
from docmill.service.observe.health import VAULT_HEADER, HealthReport
from docmill.service.observe.tracing import Tracer
from docmill.service.ports import Unlocker
from docmill.service.probes import Probes
from docmill.web import gmail_pushes, idempotency, inbound_webhooks, openapi, problems
from docmill.web.access import AccessRoute
from docmill.web.api import bin as bin_routes
from docmill.web.api import (
    documents,
    events,
    exports,
    files,
    ingestions,
    matches,
    notes,
    operations,
    people,
    reviews,
    signed_addresses,
    sources,
    statement_columns,
    tags,
    tus,
    views,
    webhooks,
)
from docmill.web.api.shapes import Health
from docmill.web.context import Vault
from docmill.web.head_requests import HeadRequests
from docmill.web.languages import LanguageOfVisitor
from docmill.web.mcp import http_endpoint
from docmill.web.page_images import PageImages
from docmill.web.pages import api_docs, bank_tables, openid, profile, sign_in, source_permissions
from docmill.web.pages import bin as bin_page
from docmill.web.pages import capture as capture_page
from docmill.web.pages import documents as documents_page
from docmill.web.pages import edits as edits_page
from docmill.web.pages import languages as languages_page
from docmill.web.pages import matches as matches_page
from docmill.web.pages import operations as operations_page
from docmill.web.pages import people as people_page
from docmill.web.pages import review_queue as review_queue_page
from docmill.web.pages import reviews as reviews_page
from docmill.web.pages import settings as settings_page
from docmill.web.pages import sources as sources_page
from docmill.web.pages import tags as tags_page
from docmill.web.pages import webhooks as webhooks_page
from docmill.web.paperless import paperless_routes
from docmill.web.security import Reach, SecurityHeaders, TrustedRequestsOnly, check_host
from docmill.web.templating import STATIC, Templates, static_version
from docmill.web.tus_protocol import TusRequests

API_PREFIX = "/api/v1"
API_ROUTERS = (
    documents.router,
    documents.ingestions_router,
    files.router,
    reviews.router,
    tags.router,
    tags.assignment_router,
    notes.router,
    views.router,
    bin_routes.router,
    ingestions.router,
    tus.router,
    matches.router,
    statement_columns.router,
    signed_addresses.router,
    operations.router,
    events.router,
    people.router,
    sources.router,
    exports.router,
    webhooks.router,
)
PAGE_ROUTERS = (
    documents_page.router,
    reviews_page.router,
    review_queue_page.router,
    sign_in.router,
    languages_page.router,
    openid.router,
    profile.router,
    people_page.router,
    tags_page.router,
    views.form_router,
    notes.form_router,
    edits_page.router,
    matches_page.router,
    bin_page.router,
    capture_page.router,
    operations_page.router,
    settings_page.router,
    source_permissions.router,  # before what takes a part of its addresses for an id
    sources_page.router,
    webhooks_page.router,
    bank_tables.router,
    api_docs.router,
    paperless_routes.router,
    http_endpoint.router,
    inbound_webhooks.router,
    gmail_pushes.router,
)
_KEY = HTTPBearer(auto_error=False, scheme_name="apiKey", description="A key of the page API keys: dm_…")
"""For the description of the API alone: `AccessRoute` checks the key."""

_SMALLEST_GZIP = 500
_UNAVAILABLE = 503
_SERVER_ERROR = 500
_UNTRACED = ("/healthz", "/readyz", "/metrics", "/static/", "/api/v1/events")
"""Requested all the time, or answered for as long as a page is open."""


def create_app(
    service: Service,
    renderer: PageRenderer,
    settings: Settings,
    probes: Probes | None = None,
    *,
    unlocker: Unlocker | None = None,
) -> FastAPI:
    """Build the vault's web pages and API.

    unlocker: opens files that are protected by a password; without one they are refused. probes: health and
    metrics of the process; made of `service` unless given. Raises MisconfiguredError if the settings let
    other machines connect without TLS, TypeError if a route does not ask who may use it.
    """
    check_host(settings.web)
    templates = _templates()
    app = FastAPI(
        title="docmill",
        summary="Documents in, trusted typed data out",
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page loads scripts from other sites; ours is `api_docs`
        redoc_url=None,
    )
    closing = asyncio.Event()
    probes = probes or Probes.of(service, closing)
    app.state.vault = Vault(
        service,
        settings,
        PageImages(service.blobs, renderer),
        templates,
        probes.metrics,
        closing,
        unlocker or NoUnlocker(),
    )
    for router in (*API_ROUTERS, *PAGE_ROUTERS):
        for route in router.routes:
            if not isinstance(route, AccessRoute):
                raise TypeError(f"{route} was made by no Router of docmill.web.access: who may use it?")
        if router in API_ROUTERS:
            app.include_router(
                router, prefix=API_PREFIX, dependencies=[Depends(_KEY), Depends(idempotency.once)]
            )
        else:
            app.include_router(router)
    app.include_router(_probe_router(probes))
    app.mount(f"/static/{static_version()}", _ImmutableFiles(directory=STATIC))
    problems.install(app, templates)
    openapi.install(app, prefix=API_PREFIX)
    app.add_exception_handler(idempotency.ReplayedAnswerError, idempotency.replay)
    app.add_middleware(idempotency.IdempotentRequests, prefix=f"{API_PREFIX}/")
    app.add_middleware(TusRequests, path=f"{API_PREFIX}/uploads")
    app.add_middleware(_Compression, minimum_size=_SMALLEST_GZIP, compresslevel=6)
    app.add_middleware(HeadRequests)
    app.add_middleware(TrustedRequestsOnly, reach=Reach.of(settings.web))
    app.add_middleware(LanguageOfVisitor)
    app.add_middleware(SecurityHeaders)
    if service.tracer.enabled:
        app.add_middleware(RequestSpans, tracer=service.tracer, prefix=API_PREFIX)
    return app


@cache
def _templates() -> Templates:
    """Compile the templates, once for every application of this process: it takes most of a start."""
    return Templates()


def create_probe_app(probes: Probes) -> FastAPI:
    """Build an application of `/healthz`, `/readyz` and `/metrics` alone, for a process without pages."""
    app = FastAPI(title="docmill", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(_probe_router(probes))
    app.add_middleware(TrustedRequestsOnly, reach=Reach())
    return app


def _probe_router(probes: Probes) -> APIRouter:
    """Routes for an orchestrator and Prometheus: liveness, readiness, metrics."""
    failing: dict[int | str, dict[str, Any]] = {_UNAVAILABLE: {"model": Health}}
    router = APIRouter(tags=["health"])

    def answer(report: HealthReport) -> JSONResponse:
        content = Health(status=report.status, checks=dict(report.checks)).model_dump()
        return JSONResponse(content, 200 if report.ok else _UNAVAILABLE, {"cache-control": "no-store"})

    async def healthz() -> JSONResponse:
        """Liveness: this process can work at all, since its database answers. A header names the vault."""
        response = answer(await probes.health.alive())
        if probes.vault_id is not None:
            response.headers[VAULT_HEADER] = str(probes.vault_id)
        return response

    async def readyz() -> JSONResponse:
        """Readiness: database, queue and file store answer, and this process is not stopping."""
        return answer(await probes.health.ready())

    async def metrics(request: Request) -> Response:
        """Metrics of this process in Prometheus' text format, for this machine: they tell of all tenants."""
        if not request.state.is_local:
            raise HTTPException(403, "Metrics are for programs on this machine.")
        return Response(await probes.scrape(), headers={"content-type": CONTENT_TYPE_LATEST})

    router.add_api_route("/healthz", healthz, response_model=Health, responses=failing)
    router.add_api_route("/readyz", readyz, response_model=Health, responses=failing)
    router.add_api_route("/metrics", metrics, response_class=Response)
    return router


class _ImmutableFiles(StaticFiles):
    """Files whose address changes with their content, so that browsers may cache them for ever.

    They are compressed once: a first visit asks for a dozen of them.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        compressed = _compressed_files().get(path)
        if compressed is not None and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            headers = {"content-encoding": "gzip", "vary": "Accept-Encoding"}
            response = Response(compressed, media_type=guess_type(path)[0], headers=headers)
        else:
            response = await super().get_response(path, scope)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


@cache
def _compressed_files() -> Mapping[str, bytes]:
    """The files of the pages by name, compressed."""
    return {path.name: gzip.compress(path.read_bytes(), mtime=0) for path in STATIC.iterdir()}


class _Compression(GZipMiddleware):
    """Compresses answers, but not stored files: they are compressed, and ranges count their own bytes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        is_file = path.endswith(("/file", "/preprocessed.pdf")) or path.startswith(f"{API_PREFIX}/exports/")
        if scope["type"] == "http" and is_file:
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class RequestSpans:
    """Middleware that makes a span for each request, as part of the trace that the request names.

    prefix: of the API's addresses, which the paths of its routes lack.
    """

    def __init__(self, app: ASGIApp, *, tracer: Tracer, prefix: str) -> None:
        self._app = app
        self._tracer = tracer
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"].startswith(_UNTRACED):
            await self._app(scope, receive, send)
            return
        method = str(scope["method"])
        with self._tracer.span(
            method,
            kind="server",
            attributes={"http.request.method": method, "url.scheme": str(scope["scheme"])},
            parent=Headers(scope=scope).get("traceparent"),
        ) as span:

            async def send_with_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.describe({"http.response.status_code": status})
                    if status >= _SERVER_ERROR:
                        span.fail(str(status))
                await send(message)

            try:
                await self._app(scope, receive, send_with_status)
            finally:
                # The pattern of the address, known once the request was handled.
                if route := getattr(scope.get("route"), "path", None):
                    in_api = scope["path"].startswith(f"{self._prefix}/")
                    if in_api and not route.startswith(self._prefix):
                        route = f"{self._prefix}{route}"
                    span.describe({"http.route": route}, name=f"{method} {route}")
