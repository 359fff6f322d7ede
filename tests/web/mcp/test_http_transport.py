"""The MCP server by HTTP: who gets in, as whom, and what of the protocol is answered."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from mcp import MCPError

from docmill.service.app import Service
from docmill.service.people.access import Scope
from docmill.service.people.sign_in import Visitor
from docmill.service.store import audit_log
from docmill.web.mcp.tool_registry import TOOLS
from web.mcp.conftest import Connect, MakeKey

Read = Callable[..., Awaitable[UUID]]

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}
READING_TOOLS = [
    "search_documents",
    "get_document",
    "get_page_text",
    "get_linked_documents",
    "list_document_types",
    "get_document_type",
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_assistant_finds_and_reads_a_document(
    read: Read, make_key: MakeKey, connect: Connect, mode: str
) -> None:
    document_id = await read()

    async with connect(await make_key("read"), mode) as assistant:
        found = (await assistant.call_tool("search_documents", {"q": "bakery"})).structured_content
        got = (
            await assistant.call_tool("get_document", {"document_id": str(document_id)})
        ).structured_content

    assert [document["document_id"] for document in found["documents"]] == [str(document_id)]
    values = {field["path"]: field["value"] for field in got["from_document"]["fields"]}
    assert values["gross_total"] == "12.90"


async def test_a_key_that_may_only_read_is_shown_no_tool_that_writes(
    make_key: MakeKey, connect: Connect
) -> None:
    async with connect(await make_key("read")) as assistant:
        listed = (await assistant.list_tools()).tools
        with pytest.raises(MCPError, match="no tool 'file_document' here"):
            await assistant.call_tool("file_document", {"file_name": "a.txt", "content_base64": "YQ=="})

    assert [tool.name for tool in listed] == READING_TOOLS
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)


async def test_a_key_that_may_write_files_and_the_audit_log_tells_which(
    service: Service, make_key: MakeKey, connect: Connect
) -> None:
    async with connect(await make_key("read", "write")) as assistant:
        listed = (await assistant.list_tools()).tools
        filed = await assistant.call_tool("file_document", {"file_name": "a.txt", "content_base64": "YQ=="})
        again = await assistant.call_tool("file_document", {"file_name": "a.txt", "content_base64": "YQ=="})

    assert [tool.name for tool in listed] == [*READING_TOOLS, "file_document"]
    assert not (listed[-1].annotations and listed[-1].annotations.read_only_hint)
    assert (filed.structured_content["status"], again.structured_content["status"]) == (
        "accepted",
        "already_here",
    )
    async with service.database.tenant(service.default_tenant_id) as conn:
        entry = (await audit_log.page(conn, after=None, limit=1))[0]
    assert (entry.action, entry.api_key, entry.address) == ("upload", "assistant", "127.0.0.1")
    assert entry.target == filed.structured_content["document_id"]
    assert entry.details == {"files": 1, "by_assistant": True}


async def test_documents_of_another_organisation_do_not_exist(
    read: Read, stranger: UUID, make_key: MakeKey, connect: Connect
) -> None:
    document_id = str(await read())

    async with connect(await make_key("read", "write", tenant_id=stranger)) as assistant:
        found = await assistant.call_tool("search_documents", {})
        by_words = await assistant.call_tool("search_documents", {"q": "bakery", "by": "both"})
        refused = [
            await assistant.call_tool(tool, {"document_id": document_id})
            for tool in ("get_document", "get_page_text", "get_linked_documents")
        ]
        filed = await assistant.call_tool(
            "file_document", {"file_name": "receipt.png", "content_base64": "cmVjZWlwdC5wbmc="}
        )

    assert found.structured_content["documents"] == by_words.structured_content["documents"] == []
    assert all(result.is_error for result in refused)
    assert {block.text for result in refused for block in result.content if block.type == "text"} == {
        "There is no such document here."
    }
    assert filed.structured_content["status"] == "accepted"  # the same content, and another document
    assert filed.structured_content["document_id"] != document_id


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer dm_guess"}], ids=["none", "wrong"])
@pytest.mark.usefixtures("make_key")
async def test_without_a_key_nothing_is_answered(address: str, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient(headers=ACCEPT | headers) as client:
        answer = await client.post(f"{address}mcp", json=PING)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="docmill"'
    assert answer.json()["code"] == "not_signed_in"


@pytest.mark.parametrize("scopes", [("write",), ("administer",), ("administer", "write")], ids="+".join)
async def test_no_tool_is_called_without_the_scope_read(
    address: str, make_key: MakeKey, scopes: tuple[Scope, ...]
) -> None:
    headers = ACCEPT | {"authorization": f"Bearer {await make_key(*scopes)}"}

    async with httpx.AsyncClient(headers=headers) as client:
        answers = [
            await client.post(
                f"{address}mcp",
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": name, "arguments": {}},
                },
            )
            for name in TOOLS
        ]

    assert {answer.status_code for answer in answers} == {403}


@pytest.mark.parametrize(
    "scopes",
    [("read",), ("read", "review"), ("administer", "read"), ("read", "write")],
    ids="+".join,
)
async def test_a_tool_is_called_with_the_scopes_of_its_permission_alone(
    make_key: MakeKey, connect: Connect, scopes: tuple[Scope, ...]
) -> None:
    refused: set[str] = set()
    async with connect(await make_key(*scopes)) as assistant:
        for name in TOOLS:
            try:
                await assistant.call_tool(name, {})
            except MCPError:
                refused.add(name)

    assert refused == {
        name
        for name, tool in TOOLS.items()
        if tool.by_path or (tool.needs == "write" and "write" not in scopes)
    }


async def test_a_key_that_may_not_read_is_refused(address: str, make_key: MakeKey) -> None:
    headers = ACCEPT | {"authorization": f"Bearer {await make_key('write')}"}

    async with httpx.AsyncClient(headers=headers) as client:
        answer = await client.post(f"{address}mcp", json=PING)

    assert answer.status_code == 403
    assert answer.json()["detail"] == "This API key lacks the scope 'read'."


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
    ids=str,
)
async def test_what_another_site_has_a_browser_send_is_refused(
    address: str, headers: dict[str, str], status: int
) -> None:
    # This vault has no account, and answers everybody on this machine.
    async with httpx.AsyncClient(headers=ACCEPT) as client:
        answers = await client.post(f"{address}mcp", json=PING)
        refused = await client.post(f"{address}mcp", json=PING, headers=headers)

    assert (answers.status_code, answers.json()["result"]) == (200, {})
    assert refused.status_code == status


async def test_a_session_of_a_browser_needs_the_token_of_a_form(
    service: Service, address: str, make_key: MakeKey
) -> None:
    await make_key("read")
    async with service.database.accounts() as conn:
        cur = await conn.execute("SELECT id FROM users WHERE email = 'anna@example.org'")
        ((user_id,),) = await cur.fetchall()
    session = await service.sign_in.begin_session(user_id, Visitor())

    async with httpx.AsyncClient(headers=ACCEPT, cookies={"docmill-session": session.token}) as client:
        answer = await client.post(f"{address}mcp", json=PING)

    assert answer.status_code == 403


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_are_no_streams_and_no_sessions_to_end(address: str, method: str) -> None:
    async with httpx.AsyncClient(headers=ACCEPT) as client:
        answer = await client.request(method, f"{address}mcp")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["code"] == "not_allowed"


async def test_a_request_is_as_long_as_its_caller_may_file(address: str, make_key: MakeKey) -> None:
    large = {**PING, "params": {"_meta": {"filling": "x" * 200_000}}}
    statuses: list[int] = []

    for scopes in (("read",), ("read", "write")):
        headers = ACCEPT | {"authorization": f"Bearer {await make_key(*scopes)}"}
        async with httpx.AsyncClient(headers=headers) as client:
            statuses.append((await client.post(f"{address}mcp", json=large)).status_code)

    assert statuses == [413, 200]


async def test_a_body_that_is_no_message_is_refused(address: str) -> None:
    async with httpx.AsyncClient(headers=ACCEPT | {"content-type": "application/json"}) as client:
        answer = await client.post(f"{address}mcp", content=b"{")

    assert answer.status_code == 400


async def test_without_the_extra_the_address_says_what_is_missing(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("docmill.web.mcp.http_endpoint.import_module", missing)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post("/mcp", json=PING)

    assert answer.status_code == 404
    assert "docmill[mcp]" in answer.json()["detail"]
