"""Names, addresses and methods that lead elsewhere."""

import re
from urllib.parse import quote, urljoin, urlsplit

import pytest

from support.attacked_vault import AttackedVault, operations, send_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

AWAY = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    " //evil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "/%09/evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "//localhost@evil.example",
    "http://localhost:80@evil.example/",
    "/a\r\nset-cookie: hostile=1",
]
HOSTS = [
    "localhost:8080@evil.example",
    "localhost:x@evil.example",
    "localhost:80/path?",
    "localhost:80#",
    "localhost:80?",
    "localhost:80,evil.example",
    "localhost:80:evil.example",
    "localhost:",
    "localhost:999999",
    "[::1",
    "[::1]evil.example",
    "[::1]:80@evil.example",
    "127.0.0.1.evil.example",
    "evil.example",
    "",
]


def leads_away(location: str) -> bool:
    """Whether a browser would leave this vault: it drops tabs and line ends, and turns backslashes."""
    seen = re.sub(r"[\t\r\n]", "", location.strip()).replace("\\", "/")
    target = urlsplit(urljoin("http://localhost/page", seen))
    return (target.scheme, target.netloc) != ("http", "localhost")


@pytest.mark.parametrize("target", AWAY)
async def test_no_form_and_no_link_leads_to_another_site(attacked: AttackedVault, target: str) -> None:
    gone: list[str] = []
    async with (
        attacked.client(session=attacked.ours.sessions["owner"]) as person,
        attacked.client() as stranger,
    ):
        for operation in operations():
            parameters = [parameter for parameter in operation.parameters if parameter.name == "next"]
            if not operation.is_page or not parameters or operation.path.endswith("/retry"):
                continue
            method, path, request = send_of(operation, {parameters[0]: target}, attacked.ours.ids)
            if operation.path == "/tenant":
                request["content"] += f"&tenant_id={attacked.ours.tenant_id}"
            for client in (person, stranger):
                answer = await client.request(method, path, **request)
                if leads_away(answer.headers.get("location", "/")) or "hostile" in answer.headers.get(
                    "set-cookie", ""
                ):
                    gone.append(f"{operation.name} {answer.headers['location']!r}")

    assert gone == []


async def test_the_way_to_the_sign_in_comes_back_to_this_vault(attacked: AttackedVault) -> None:
    async with attacked.client() as stranger:
        for path in ("//evil.example/", "/docs/x?next=//evil.example", "/review/%5c%5cevil.example"):
            answer = await stranger.get(path)
            assert not leads_away(answer.headers.get("location", "/"))
        refused = await stranger.post("/bulk", headers={"referer": "https://evil.example//evil.example/x"})

    assert not leads_away(refused.headers["location"])
    assert "evil.example/" not in refused.headers["location"].replace(quote("/", ""), "/").split("next=/")[0]


@pytest.mark.parametrize("host", HOSTS)
async def test_a_host_header_with_more_than_a_name_and_a_port_is_not_answered(
    attacked: AttackedVault, host: str
) -> None:
    async with attacked.client() as stranger:
        answer = await stranger.get("/login", headers={"host": host})

    assert answer.status_code == 421


async def test_a_405_names_every_method_of_the_address(attacked: AttackedVault) -> None:
    async with attacked.client() as stranger:
        answers = [
            await stranger.request("OPTIONS", f"/api/v1/{path}")
            for path in ("bin", "people/1", "tags/assign")
        ]

    assert [answer.headers["allow"] for answer in answers] == [
        "GET, HEAD, DELETE",
        "PATCH, DELETE",
        "POST, PATCH, DELETE",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../security.py",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/api/docs/assets/..%2f..%2fapp.py",
        "/api/docs/assets/%2fetc%2fpasswd",
    ],
)
async def test_no_path_leads_out_of_the_static_files(attacked: AttackedVault, path: str) -> None:
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        version = re.search(
            r"/static/(\w+)/", (await person.get("/login")).text or (await person.get("/")).text
        )
        paths = [path, *([path.replace("/static/", f"/static/{version[1]}/")] if version else [])]
        answers = [await person.get(address) for address in paths]

    assert {answer.status_code for answer in answers} <= {404, 422}
