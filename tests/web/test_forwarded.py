"""What is believed of headers that a proxy sets, and of whom."""

from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from docmill.service.config.web import Web
from docmill.web.security import Reach, TrustedRequestsOnly

PROXY = "10.0.0.1"
FORWARDED = {
    "x-forwarded-for": "203.0.113.5",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "vault.example.org",
}


async def _show(request: Request) -> JSONResponse:
    return JSONResponse(
        {
            "client": request.client.host if request.client else None,
            "scheme": request.url.scheme,
            "host": request.headers["host"],
            "is_local": request.state.is_local,
            "left": [name for name in request.headers if "forward" in name or name == "x-real-ip"],
        }
    )


async def ask(
    peer: str,
    headers: dict[str, str] | list[tuple[str, str]],
    host: str = "localhost",
    reach: Reach | None = None,
) -> httpx.Response:
    app = Starlette(routes=[Route("/", _show)])
    guarded = TrustedRequestsOnly(
        app,
        reach=reach
        or Reach(
            hosts=frozenset({"vault.example.org", "vault.example.org:8443"}),
            proxies=(ip_network("10.0.0.0/24"), ip_network("::1/128")),
        ),
    )
    transport = httpx.ASGITransport(guarded, client=(peer, 7))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        return await client.get("/", headers=headers)


async def test_a_trusted_proxy_is_believed() -> None:
    shown = (await ask(PROXY, FORWARDED)).json()

    assert shown == {
        "client": "203.0.113.5",
        "scheme": "https",
        "host": "vault.example.org",
        "is_local": False,
        "left": [],
    }


@pytest.mark.parametrize("peer", ["203.0.113.9", "127.0.0.1", "10.0.1.1"])
async def test_nobody_else_is_believed(peer: str) -> None:
    shown = (await ask(peer, {**FORWARDED, "forwarded": "for=127.0.0.1", "x-real-ip": "127.0.0.1"})).json()

    assert shown == {"client": peer, "scheme": "http", "host": "localhost", "is_local": False, "left": []}


async def test_what_the_visitor_wrote_before_the_proxy_is_not_believed() -> None:
    headers = [
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-for", "127.0.0.1, 203.0.113.5, 10.0.0.2"),
        ("x-forwarded-proto", "https, http"),
        ("x-forwarded-host", "localhost, vault.example.org"),
    ]

    shown = (await ask(PROXY, headers)).json()

    assert (shown["client"], shown["scheme"], shown["host"]) == ("203.0.113.5", "http", "vault.example.org")
    assert not shown["is_local"]


@pytest.mark.parametrize("peer", ["10.0.0.1", "::1"])
async def test_a_proxy_that_tells_nothing_is_not_this_machine(peer: str) -> None:
    assert (await ask(peer, {})).json()["is_local"] is False


async def test_nonsense_from_a_proxy_is_left_out() -> None:
    headers = {"x-forwarded-for": "unknown, <script>", "x-forwarded-proto": "javascript"}

    shown = (await ask(PROXY, headers)).json()

    assert (shown["client"], shown["scheme"]) == (PROXY, "http")


@pytest.mark.parametrize("host", ["evil.example", "vault.example.org.evil.example"])
async def test_a_host_that_is_not_configured_is_not_answered(host: str) -> None:
    assert (await ask(PROXY, {"x-forwarded-host": host})).status_code == 421
    assert (await ask("203.0.113.9", {}, host)).status_code == 421


async def test_this_machine_is_known_by_address_and_name() -> None:
    assert (await ask("127.0.0.1", {})).json()["is_local"] is True
    assert (await ask("127.0.0.1", {}, "vault.example.org")).json()["is_local"] is False
    assert (await ask("203.0.113.9", {})).json()["is_local"] is False


@pytest.mark.parametrize(
    ("host", "is_answered"),
    [
        ("vault.example.org", True),
        ("vault.example.org:80", True),
        ("vault.example.org:8443", True),
        ("vault.example.org:8444", False),
        ("localhost:8443", False),
        ("[::1]:8443", False),
    ],
)
async def test_a_name_is_answered_with_its_ports_only(host: str, *, is_answered: bool) -> None:
    answer = await ask("127.0.0.1", {"host": host})

    assert answer.status_code == (200 if is_answered else 421)


async def test_the_port_of_the_connection_and_that_of_the_settings_are_answered() -> None:
    """A tunnel may end at another port than that of the server: that port is one of the settings."""
    assert (await ask("127.0.0.1", {}, "localhost:4711")).status_code == 200
    reach = Reach.of(Web(port=8081, hosts=("localhost:9000",)))
    statuses = [
        (await ask("127.0.0.1", {"host": f"localhost:{port}"}, reach=reach)).status_code
        for port in (8081, 9000, 9001)
    ]

    assert statuses == [200, 200, 421]


async def test_the_public_address_is_answered_with_its_port() -> None:
    reach = Reach.of(Web(public_url="https://Vault.example.org:8443"))

    assert (await ask("127.0.0.1", {"host": "vault.example.org:8443"}, reach=reach)).status_code == 200
    assert (await ask("127.0.0.1", {"host": "vault.example.org"}, reach=reach)).status_code == 421


@pytest.mark.parametrize(
    ("peer", "status"),
    [(PROXY, 200), ("127.0.0.1", 200), ("203.0.113.9", 403), ("", 403), ("testclient", 403)],
)
@pytest.mark.parametrize("headers", [{}, {"x-forwarded-proto": "https"}])
async def test_what_must_come_by_tls_is_taken_in_the_clear_from_proxies_only(
    peer: str, status: int, headers: dict[str, str]
) -> None:
    web = Web.model_validate(
        {"host": "0.0.0.0", "hosts": ["vault.example.org"], "trusted_proxies": ["10.0.0.0/24"]}  # noqa: S104
    )

    assert (await ask(peer, headers, "vault.example.org", Reach.of(web))).status_code == status


async def test_a_server_with_a_certificate_has_no_requests_in_the_clear_to_refuse() -> None:
    web = Web(host="192.0.2.1", tls_certificate=Path("cert"), tls_key=Path("key"))

    assert not Reach.of(web).needs_tls
