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
    """Raises MisconfiguredError unless `host` is this machine."""
    if not _is_this_machine(host):
        raise MisconfiguredError(
            f"web.host is {host!r}, but this release has no sign-in: whoever reaches the vault could read "
            "every document. Set web.host to '127.0.0.1', and come from elsewhere through an SSH tunnel"
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


class OnlyFromHere:
    """Refuses what another site has a visitor's browser send.

    A name of another site can be made to point at this machine (DNS rebinding): the Host header tells. A form
    of another site can be sent here: Sec-Fetch-Site or Origin tells; programs that are no browsers send
    neither.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http":
            refusal = _refusal(scope["method"], Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _refusal(method: str, headers: Headers) -> PlainTextResponse | None:
    host = headers.get("host", "")
    if not _is_this_machine(_name(host)):
        return PlainTextResponse("This vault answers to names of this machine only.", 421)
    if method not in _SAFE_METHODS and not _is_same_origin(headers, host):
        return PlainTextResponse("This request comes from another site.", 403)
    return None


def _is_same_origin(headers: Headers, host: str) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host


def _name(host: str) -> str:
    """The host without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
