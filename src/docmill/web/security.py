"""Security headers, and the refusal of requests from other machines and other sites."""

from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.errors import MisconfiguredError

POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self'; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "base-uri 'none'; "
    "frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def check_host(host: str) -> None:
    """Check that `host` is this machine. Raises MisconfiguredError."""
    if not _is_this_machine(host):
        raise MisconfiguredError(
            f"web.host is {host!r}, but this release has no sign-in: anybody who reaches the vault could "
            "read every document. Set web.host to '127.0.0.1'; from elsewhere, use an SSH tunnel"
        )


class SecurityHeaders:
    """Adds `HEADERS` to every answer that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class LocalRequestsOnly:
    """Refuses requests that another site has a visitor's browser send.

    A name of another site can be made to point at this machine (DNS rebinding), which the Host header shows.
    A form of another site can be sent here, which Sec-Fetch-Site or Origin shows; programs that are no
    browsers send neither.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        app = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
            if not _is_this_machine(name):
                app = PlainTextResponse("This vault answers to names of this machine only.", 421)
            elif scope["method"] not in _SAFE_METHODS:
                site, origin = headers.get("sec-fetch-site"), headers.get("origin")
                if site is None:
                    is_same_origin = origin is None or origin.partition("://")[2] == host
                else:
                    is_same_origin = site in {"same-origin", "none"}
                if not is_same_origin:
                    app = PlainTextResponse("This request comes from another site.", 403)
        await app(scope, receive, send)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
