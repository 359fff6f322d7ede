"""Security headers, and the refusal of requests from other machines and other sites."""

import re
from collections.abc import Collection, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.errors import MisconfiguredError
from docmill.service.config.web import Web

Network = IPv4Network | IPv6Network

POLICY = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self'; "
    "connect-src 'self'; "
    "manifest-src 'self'; "
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

_HOST = re.compile(r"(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
"""A Host header that has nothing behind name and port: links that are mailed are made of it."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_FORWARDED = frozenset(
    {
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-prefix",
        "x-forwarded-proto",
        "x-real-ip",
    }
)


_FORWARDED_ADDRESS = re.compile(
    r"(?P<v4>[0-9.]+):\d+|\[(?P<v6>[0-9A-Fa-f:.]+)\](?::\d+)?|(?P<address>[0-9A-Fa-f:.]+)"
)
"""An address in X-Forwarded-For; some proxies add the port."""


def check_host(web: Web) -> None:
    """Check that others than this machine cannot listen in. Raises MisconfiguredError."""
    if not (is_this_machine(web.host) or web.tls_certificate or web.trusted_proxies):
        raise MisconfiguredError(
            f"web.host is {web.host!r}, so passwords would cross the network in the clear. Set "
            "web.tls_certificate and web.tls_key, or web.trusted_proxies for a proxy with TLS; or set "
            "web.host to '127.0.0.1' and use an SSH tunnel"
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
                if scope.get("scheme") == "https":
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class TrustedRequestsOnly:
    """Refuses requests that another site has a visitor's browser send, and finds out who asks.

    A name of another site can be made to point at this machine (DNS rebinding), which the Host header shows.
    A form of another site can be sent here, which Sec-Fetch-Site or Origin shows; programs that are no
    browsers send neither.

    hosts: names besides those of this machine that are answered. proxies: whose X-Forwarded headers replace
    address, scheme and host of a request; those of anybody else are removed. `request.state.is_local` tells
    whether a request came from this machine and through no proxy.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Collection[str] = (), proxies: Collection[Network] = ()
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._proxies = tuple(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        app = self._app
        if scope["type"] == "http":
            self._apply_forwarded(scope)
            headers = Headers(scope=scope)
            host = headers.get("host", "").lower()
            name = host_name(host)
            if not (_HOST.fullmatch(host) and (is_this_machine(name) or name in self._hosts)):
                app = PlainTextResponse(
                    "This vault does not answer to this name; see the setting web.hosts.", 421
                )
            elif scope["method"] not in SAFE_METHODS:
                site, origin = headers.get("sec-fetch-site"), headers.get("origin")
                if site is None:
                    is_same_origin = origin is None or origin.partition("://")[2] == host
                else:
                    is_same_origin = site in {"same-origin", "none"}
                if not is_same_origin:
                    app = PlainTextResponse("This request comes from another site.", 403)
        await app(scope, receive, send)

    def _apply_forwarded(self, scope: Scope) -> None:
        """Replace what a trusted proxy says of the request, and remove the headers that say it."""
        headers = Headers(scope=scope)
        forwarded = {name: headers.getlist(name) for name in _FORWARDED if name in headers}
        peer = scope["client"][0] if scope.get("client") else ""
        is_proxied = self._is_proxy(peer)
        state = scope.setdefault("state", {})
        state["is_local"] = (
            is_this_machine(peer)
            and is_this_machine(host_name(headers.get("host", "").lower()))
            and not (is_proxied or forwarded)
        )
        if not forwarded:
            return
        kept = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in _FORWARDED]
        if is_proxied:
            host = _last(forwarded.get("x-forwarded-host", []))
            if host:
                kept = [(name, value) for name, value in kept if name != b"host"]
                kept.append((b"host", host.encode("latin-1")))
            if _last(forwarded.get("x-forwarded-proto", [])) in {"http", "https"}:
                scope["scheme"] = _last(forwarded["x-forwarded-proto"])
            scope["client"] = (self._client(forwarded.get("x-forwarded-for", []), peer), 0)
        scope["headers"] = kept

    def _client(self, forwarded_for: Sequence[str], peer: str) -> str:
        """Return the last address that no trusted proxy has: those before it may be made up.

        Where a proxy gives something else than an address, the last one known is that of the proxy.
        """
        client = peer
        for text in reversed([part for line in forwarded_for for part in line.split(",")]):
            match = _FORWARDED_ADDRESS.fullmatch(text.strip())
            address = match and (match["address"] or match["v4"] or match["v6"])
            if not address or not is_address(address):
                return client
            client = address
            if not self._is_proxy(client):
                return client
        return client

    def _is_proxy(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed.version == network.version and parsed in network for network in self._proxies)


def host_name(host: str) -> str:
    """Return a Host header without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def is_this_machine(host: str) -> bool:
    """Return whether a name or address is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(text: str) -> bool:
    """Return whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _last(values: Sequence[str]) -> str:
    """Return the last item of a header that lists them: it is what the proxy itself has added."""
    return values[-1].rpartition(",")[2].strip().lower() if values else ""
