"""A span for every request that does work, as the semantic conventions for HTTP have it."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.service.observe.tracing import Tracer

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
