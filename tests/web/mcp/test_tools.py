"""The tools, beside the vault in this process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from mcp import Client, MCPError

from docmill.service.app import Service
from docmill.service.matches import Matches
from docmill.service.people.access import Scope
from docmill.service.store import audit_log
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.match_decisions import Pair
from docmill.web.context import Vault
from docmill.web.mcp import document_content, tool_registry
from docmill.web.mcp.protocol_server import build_server
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.mcp.tool_registry import TOOLS
from web.mcp.conftest import Context

Read = Callable[..., Awaitable[UUID]]
Hold = Callable[..., Awaitable[None]]


async def ask(context: ToolContext, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer, which the client has checked against the tool's schema."""
    async with Client(build_server(context)) as assistant:
        result = await assistant.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return cast("dict[str, Any]", result.structured_content)


async def refusal(context: ToolContext, tool: str, **arguments: object) -> str:
    async with Client(build_server(context)) as assistant:
        result = await assistant.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return "".join(block.text for block in result.content if block.type == "text")


async def test_a_document_is_shown_with_the_place_of_each_value(read: Read, context: Context) -> None:
    document_id = await read(
        valid_structured_data=False,
        verdict={
            "failures": [
                {"check": "confidence", "message": "The date is not sure.", "fields": ["issue_date"]}
            ]
        },
    )

    answer = await ask(context("read"), "get_document", document_id=str(document_id))

    assert (answer["document_type"], answer["state"], answer["verdict"]) == (
        "receipt",
        "needs_review",
        "needs_look",
    )
    content = answer["from_document"]
    assert (content["title"], content["file_name"]) == ("Corner Bakery", "receipt.png")
    assert [check["check"] for check in content["failed_checks"]] == ["confidence"]
    fields = {field["path"]: field for field in content["fields"]}
    assert fields["gross_total"] == {
        "path": "gross_total",
        "value": "12.90",
        "certainty": "sure",
        "confidence": 0.95,
        "match": "exact",
        "text": "12.90",
        "page": 1,
        "box": [0.5, 0.5, 0.58, 0.55],
        "problems": [],
        "suggestions": [],
    }
    assert (fields["issue_date"]["certainty"], fields["issue_date"]["problems"]) == (
        "invalid",
        ["The date is not sure."],
    )
    assert fields["lines[0].net_amount"]["value"] == "4.50"
    assert answer["field_count"] == len(content["fields"])
    assert answer["next_field"] is None


async def test_values_that_do_not_fit_come_with_the_next_call(
    read: Read, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = await read()
    whole = await ask(context("read"), "get_document", document_id=str(document_id))
    monkeypatch.setattr(document_content, "_MOST_CHARACTERS", 500)
    paths: list[str] = []
    calls, following = 0, 0

    while following is not None:
        part = await ask(context("read"), "get_document", document_id=str(document_id), first_field=following)
        paths += [field["path"] for field in part["from_document"]["fields"]]
        calls, following = calls + 1, part["next_field"]

    assert paths == [field["path"] for field in whole["from_document"]["fields"]]
    assert calls > 2


async def test_a_document_is_a_resource(read: Read, context: Context) -> None:
    document_id = await read()

    async with Client(build_server(context("read"))) as assistant:
        (template,) = (await assistant.list_resource_templates()).resource_templates
        uri = template.uri_template.replace("{document_id}", str(document_id))
        (content,) = (await assistant.read_resource(uri)).contents
        with pytest.raises(MCPError, match=r"There is no such document here\."):
            await assistant.read_resource(f"docmill://documents/{new_id()}")
        with pytest.raises(MCPError, match="Resources here are called"):
            await assistant.read_resource("docmill://settings")

    assert f'"document_id":"{document_id}"' in str(content)
    assert content.mime_type == "application/json"


async def test_the_filters_are_those_of_the_api(read: Read, context: Context) -> None:
    await read("one.png")
    await read("other.png")

    async def found(**filters: object) -> list[str]:
        answer = await ask(context("read"), "search_documents", **filters)
        return [document["from_document"]["file_name"] for document in answer["documents"]]

    assert await found() == ["other.png", "one.png"]
    assert await found(q="one.png") == ["one.png"]
    assert await found(document_type="receipt", amount_from="12", amount_to=13) == ["other.png", "one.png"]
    assert await found(amount_from="13") == []
    assert await found(date_from="2026-11-04") == []
    assert await found(state="failed") == []
    first = await ask(context("read"), "search_documents", limit=1)
    assert await found(limit=1, after=first["next"]) == ["one.png"]


async def test_a_search_tells_the_text_around_what_it_found(read: Read, context: Context) -> None:
    await read(text="Corner Bakery\nBread and butter\fthe second page has marmalade on it")

    answer = await ask(context("read"), "search_documents", q="marmalade")

    (document,) = answer["documents"]
    assert document["found_on_page"] == 2
    assert "marmalade" in document["from_document"]["found"]
    assert (document["from_document"]["amount"], document["from_document"]["currency"]) == ("12.90", "EUR")


async def test_the_text_of_a_page_comes_in_pieces(read: Read, context: Context) -> None:
    document_id = str(await read())

    whole = await ask(context("read"), "get_page_text", document_id=document_id)
    first = await ask(context("read"), "get_page_text", document_id=document_id, length=10)
    rest = await ask(context("read"), "get_page_text", document_id=document_id, offset=first["next_offset"])
    second_page = await ask(context("read"), "get_page_text", document_id=document_id, page=2)

    assert (whole["page"], whole["page_count"], whole["source"], whole["next_offset"]) == (1, 2, "text", None)
    assert "Corner Bakery" in whole["from_document"]["text"]
    assert first["from_document"]["text"] + rest["from_document"]["text"] == whole["from_document"]["text"]
    assert "Nothing to see" in second_page["from_document"]["text"]


async def test_what_belongs_to_a_document_is_listed(
    service: Service, read: Read, hold: Hold, context: Context
) -> None:
    document_id, other_id, part_id = await read(), await read("other.png"), await read("part.png")
    await hold(document_id, {"part.png": part_id, "lost.bin": "it is too large"})
    await Matches(service.database, service.feed).link(
        Pair(str(document_id), str(other_id), "related"),
        tenant_id=service.default_tenant_id,
        decided_by=DEFAULT_USER_ID,
    )

    answer = await ask(context("read"), "get_linked_documents", document_id=str(document_id))
    of_part = await ask(context("read"), "get_linked_documents", document_id=str(part_id))

    (link,) = answer["links"]
    assert (link["document_id"], link["relation"], link["status"]) == (str(other_id), "related", "confirmed")
    assert link["from_document"]["title"] == "Corner Bakery"
    assert [(part["document_id"], part["from_document"]["name"]) for part in answer["parts"]] == [
        (str(part_id), "part.png"),
        (None, "lost.bin"),
    ]
    assert [whole["document_id"] for whole in of_part["part_of"]] == [str(document_id)]
    assert answer["is_complete"]


async def test_types_and_their_fields_are_listed(context: Context) -> None:
    types = (await ask(context("read"), "list_document_types"))["types"]
    invoice = await ask(context("read"), "get_document_type", name="invoice")

    (listed,) = (each for each in types if each["name"] == "invoice")
    assert (listed["label"], listed["is_built_in"]) == ("Invoice", True)
    assert len(invoice["fields"]) == listed["field_count"]
    fields = {field["path"]: field for field in invoice["fields"]}
    assert (fields["gross_total"]["kind"], fields["gross_total"]["is_critical"]) == ("decimal", True)
    assert "lines[].net_amount" in fields


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("get_document", {"document_id": str(UUID(int=7))}, "There is no such document here."),
        ("get_document", {"document_id": "7"}, "These arguments do not fit. document_id: Input should be a"),
        ("get_document", {}, "document_id: this is needed"),
        ("search_documents", {"limit": 1000}, "limit: Input should be less than or equal to 50"),
        ("search_documents", {"q": "a\0"}, "A text has a character that cannot be stored"),
        ("search_documents", {"q": "\ud800"}, "A text has a character that cannot be stored"),
        ("search_documents", {"colour": "red"}, "colour: there is no such argument"),
        ("search_documents", {"date_from": 20}, "date_from: write the day as year-month-day"),
        ("search_documents", {"after": "?"}, "after: this is no place in a list"),
        ("get_document_type", {"name": "novel"}, "there is no type 'novel'; `list_document_types` lists"),
        ("file_document", {"file_name": "a", "content_base64": "*"}, "`content_base64` is no base64"),
        ("file_document", {"file_name": "a", "content_base64": "ä"}, "`content_base64` is no base64"),
        ("file_document", {"file_name": "a", "content_base64": ""}, "the file is empty"),
    ],
    ids=str,
)
async def test_what_does_not_work_is_told_in_words(
    context: Context, tool: str, arguments: dict[str, Any], told: str
) -> None:
    assert told in await refusal(context("read", "write"), tool, **arguments)


async def test_arguments_are_not_quoted_back(context: Context) -> None:
    words = await refusal(context("read"), "search_documents", state="s3cret")

    assert "s3cret" not in words
    assert words == (
        "These arguments do not fit. state: Input should be 'processing', 'stale', 'needs_classification',"
        " 'needs_review', 'failed' or 'ready'; state: Input should be 'not_read' or 'rejected'"
    )


async def test_a_page_that_is_not_there_is_told(
    read: Read, add: Callable[..., Awaitable[UUID]], context: Context
) -> None:
    document_id, unread_id = await read(), await add("unread.png")

    no_page = await refusal(context("read"), "get_page_text", document_id=str(document_id), page=3)
    unread = await refusal(context("read"), "get_page_text", document_id=str(unread_id))

    assert no_page == "this document has no page 3, only 2"
    assert unread.startswith("no text of this document has been read, or not yet")


async def test_a_fault_tells_nothing_of_itself_and_is_logged(
    read: Read, context: Context, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    document_id = await read()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("s3cret")

    monkeypatch.setattr(document_content, "document_view", fail)

    words = await refusal(context("read"), "get_document", document_id=str(document_id))

    assert words == "A fault in docmill itself; its log has the details."
    (record,) = (record for record in caplog.records if record.levelno >= logging.ERROR)
    assert (record.message, record.__dict__["tool"]) == ("a tool failed", "get_document")


async def test_a_call_that_takes_too_long_is_ended(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(tool_registry, "TIME_LIMIT_S", 0.01)
    monkeypatch.setattr(Vault, "document_with_history", wait)

    words = await refusal(context("read"), "get_document", document_id=str(new_id()))

    assert words == "This took longer than 0 seconds. Ask for less."


@pytest.mark.usefixtures("small_files")
async def test_a_file_that_is_too_large_is_refused(context: Context) -> None:
    words = await refusal(
        context("read", "write"), "file_document", file_name="a.txt", content_base64="YWJj" * 10
    )

    assert "the file is larger than" in words


class TestFiles:
    """Files of this machine."""

    async def test_one_of_the_folder_is_filed(
        self, service: Service, context: Context, tmp_path: Path
    ) -> None:
        (tmp_path / "in" / "deep").mkdir(parents=True)
        (tmp_path / "in" / "deep" / "bill.txt").write_text("12.90")
        caller = context("read", "write", folders=(tmp_path / "in",))

        answer = await ask(caller, "file_document_from_path", path=str(tmp_path / "in" / "deep" / "bill.txt"))
        shown = await ask(caller, "get_document", document_id=answer["document_id"])

        async with service.database.tenant(service.default_tenant_id) as conn:
            entry = (await audit_log.page(conn, after=None, limit=1))[0]
        assert answer["status"] == "accepted"
        assert (entry.action, entry.target) == ("upload", answer["document_id"])
        assert entry.details == {"files": 1, "by_assistant": True, "command": True}
        assert shown["from_document"]["file_name"] == "bill.txt"

    async def test_one_is_found_in_any_of_the_folders_without_its_whole_path(
        self, context: Context, tmp_path: Path
    ) -> None:
        for folder in ("scans", "in"):
            (tmp_path / folder).mkdir()
        (tmp_path / "in" / "bill.txt").write_text("12.90")
        caller = context("read", "write", folders=(tmp_path / "scans", tmp_path / "in"))

        answer = await ask(caller, "file_document_from_path", path="bill.txt")
        words = await refusal(caller, "file_document_from_path", path="../in/missing.txt")

        assert answer["status"] == "accepted"
        assert "there is no such file" in words

    @pytest.mark.parametrize("name", ["../secret.txt", "link.txt", "missing.txt", "."])
    async def test_no_other_is_filed_nor_told_to_exist(
        self, context: Context, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "secret.txt").write_text("s3cret")
        (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "secret.txt")
        caller = context("read", "write", folders=(tmp_path / "in",))

        words = await refusal(caller, "file_document_from_path", path=f"{tmp_path}/in/{name}")

        assert words == (
            f"there is no such file in a folder from which files may be filed: {str(tmp_path / 'in')!r}"
        )

    @pytest.mark.parametrize(
        ("scopes", "has_folder"), [(("read",), True), (("read", "write"), False)], ids=["read", "no folder"]
    )
    async def test_without_leave_the_tool_is_not_there(
        self, context: Context, tmp_path: Path, scopes: tuple[Scope, ...], *, has_folder: bool
    ) -> None:
        caller = context(*scopes, folders=(tmp_path,) if has_folder else ())

        async with Client(build_server(caller)) as assistant:
            names = [tool.name for tool in (await assistant.list_tools()).tools]
            with pytest.raises(MCPError, match="no tool"):
                await assistant.call_tool("file_document_from_path", {"path": str(tmp_path)})

        assert "file_document_from_path" not in names


def test_every_tool_describes_itself() -> None:
    for name, tool in TOOLS.items():
        assert tool.input_schema["additionalProperties"] is False, name
        assert tool.output_schema["type"] == "object", name
        assert tool.description.endswith("."), name
