"""Security headers, and the refusal of requests from other machines and other sites."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

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

_PORTS = {"http": "80", "https": "443"}
"""The ports that an address need not name."""

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
    """Adds `HEADERS` to every answer that does not set them itself, and keeps it out of caches.

    Files of the pages and pictures of documents say themselves how long they may be kept.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                if scope.get("scheme") == "https":
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        await self._app(scope, receive, send_with_headers)


@dataclass(frozen=True, slots=True)
class Reach:
    """The ways in which requests may come to the server.

    hosts: names besides those of this machine that are answered, with their ports; one without is answered at
    `ports`, at the port of the connection and at that of the scheme. proxies: whose X-Forwarded headers
    replace address, scheme and host of a request; those of anybody else are removed. needs_tls: requests of
    other machines in the clear are refused, unless a proxy sends them.
    """

    hosts: frozenset[str] = frozenset()
    ports: frozenset[str] = frozenset()
    proxies: tuple[Network, ...] = ()
    needs_tls: bool = False

    @classmethod
    def of(cls, web: Web) -> "Reach":
        """The ways that the settings allow."""
        public = {urlsplit(web.public_url).netloc.lower()} if web.public_url else set[str]()
        return cls(
            hosts=frozenset({*web.hosts, web.host, *public}),
            ports=frozenset({str(web.port)}),
            proxies=web.trusted_proxies,
            needs_tls=not (is_this_machine(web.host) or web.tls_certificate),
        )

    def answers(self, host: str, scheme: str, port: str) -> bool:
        """Return whether a Host header is answered. port: of the connection."""
        if not _HOST.fullmatch(host):
            return False
        name = host_name(host)
        named_port = host[host.rfind("]") + 1 :].partition(":")[2] or _PORTS[scheme]
        if f"{name}:{named_port}" in self.hosts:
            return True
        is_known = is_this_machine(name) or name in self.hosts
        return is_known and named_port in {*self.ports, port, _PORTS[scheme]}

    def is_proxy(self, address: str) -> bool:
        """Return whether an address is that of a trusted proxy."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed.version == network.version and parsed in network for network in self.proxies)


class TrustedRequestsOnly:
    """Refuses requests that another site has a visitor's browser send, and finds out who asks.

    A name of another site can be made to point at this machine (DNS rebinding), which the Host header shows.
    A form of another site can be sent here, which Sec-Fetch-Site or Origin shows; programs that are no
    browsers send neither.

    `request.state.is_local` tells whether a request came from this machine and through no proxy.
    """

    def __init__(self, app: ASGIApp, *, reach: Reach) -> None:
        self._app = app
        self._reach = reach

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        app = self._app
        if scope["type"] == "http":
            is_clear = scope.get("scheme", "http") == "http" and not self._is_safe_in_the_clear(scope)
            self._apply_forwarded(scope)
            headers = Headers(scope=scope)
            host = headers.get("host", "").lower()
            port = str((scope.get("server") or ("", ""))[1])
            if is_clear:
                app = PlainTextResponse(
                    "This vault is served by TLS: open its https address. Only the proxies in "
                    "web.trusted_proxies may send requests in the clear.",
                    403,
                )
            elif not self._reach.answers(host, scope.get("scheme", "http"), port):
                app = PlainTextResponse(
                    "This vault does not answer to this name and port; see the setting web.hosts.", 421
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

    def _is_safe_in_the_clear(self, scope: Scope) -> bool:
        """Return whether what the peer sends without TLS crosses no network that others can listen to."""
        peer = _peer(scope)
        return not self._reach.needs_tls or is_this_machine(peer) or self._reach.is_proxy(peer)

    def _apply_forwarded(self, scope: Scope) -> None:
        """Replace what a trusted proxy says of the request, and remove the headers that say it."""
        headers = Headers(scope=scope)
        forwarded = {name: headers.getlist(name) for name in _FORWARDED if name in headers}
        peer = _peer(scope)
        is_proxied = self._reach.is_proxy(peer)
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
            if not self._reach.is_proxy(client):
                return client
        return client


def _peer(scope: Scope) -> str:
    """The address at the other end of the connection."""
    return scope["client"][0] if scope.get("client") else ""


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
