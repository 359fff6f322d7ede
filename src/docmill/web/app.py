"""The web application, put together."""

import asyncio

from fastapi import APIRouter, FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import NoUnlocker
from docmill.service.observe.tracing import Tracer
from docmill.service.ports import Unlocker
from docmill.service.probes import Probes
from docmill.web import problems
from docmill.web.api import dead_letters, documents, events, files, ingestions, pauses, reviews
from docmill.web.context import Vault
from docmill.web.page_images import PageImages, PageRenderer
from docmill.web.pages import document as document_page
from docmill.web.pages import documents as documents_page
from docmill.web.pages import reviews as reviews_page
from docmill.web.probes import ProbeRoutes
from docmill.web.security import OnlyFromHere, SecurityHeaders, check_host
from docmill.web.templating import STATIC, Templates, static_version

_API = "/api/v1"
_SMALLEST_GZIP = 500


def create_app(
    service: Service,
    renderer: PageRenderer,
    settings: Settings,
    probes: Probes | None = None,
    *,
    unlocker: Unlocker | None = None,
) -> FastAPI:
    """The vault's web pages and API.

    unlocker: opens files that are protected by a password; without one they are refused.
    probes: what the process is watched by; the vault's own unless given. Raises MisconfiguredError if it is
    to listen to other machines: that needs a sign-in, which does not exist yet.
    """
    check_host(settings.web.host)
    templates = Templates()
    app = FastAPI(
        title="docmill",
        summary="Documents in, trusted typed data out",
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # their pages load scripts of others
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
    app.include_router(_api())
    app.include_router(ProbeRoutes(probes).router())
    app.include_router(documents_page.router)
    app.include_router(document_page.router)
    app.include_router(reviews_page.router)
    app.mount(f"/static/{static_version()}", _Kept(directory=STATIC))
    problems.install(app, templates)
    app.add_middleware(_Compression, minimum_size=_SMALLEST_GZIP, compresslevel=6)
    app.add_middleware(OnlyFromHere)
    app.add_middleware(SecurityHeaders)
    if service.tracer.enabled:
        app.add_middleware(RequestSpans, tracer=service.tracer, prefix=_API)
    return app


def _api() -> APIRouter:
    api = APIRouter(prefix=_API)
    for module in (documents, files, ingestions, reviews, dead_letters, pauses, events):
        api.include_router(module.router)
    return api


class _Kept(StaticFiles):
    """Files whose address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


class _Compression(GZipMiddleware):
    """Leaves stored files as they are: they are packed, and parts of one are counted in its own bytes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(("/file", "/preprocessed.pdf")):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


_UNTRACED = ("/healthz", "/readyz", "/metrics", "/static/", "/api/v1/events")
"""Asked all the time, or answered for as long as somebody looks."""
_OWN_FAULT = 500


class RequestSpans:
    """Middleware that makes them. A request that says of which trace it is goes on with that.

    prefix: of the API's addresses, which its routes know only in part.
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

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.describe({"http.response.status_code": status})
                    if status >= _OWN_FAULT:
                        span.fail(str(status))
                await send(message)

            try:
                await self._app(scope, receive, noting)
            finally:
                if route := self._route(scope):
                    span.describe({"http.route": route}, name=f"{method} {route}")

    def _route(self, scope: Scope) -> str | None:
        """The pattern of the address, known once it was handled. What stands there may be anything."""
        route: str | None = getattr(scope.get("route"), "path", None)
        is_part = scope["path"].startswith(f"{self._prefix}/") and not (route or "").startswith(self._prefix)
        return f"{self._prefix}{route}" if route and is_part else route
