"""The tools as a server of the Model Context Protocol, by its SDK.

The low-level server of the SDK is used: the other one configures the logs of the process, and quotes
arguments in its errors. Each caller gets a server, since callers differ in what they may see and do.
"""

import re
from importlib.metadata import version
from typing import Any

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool

from docmill.web.mcp.tool_answers import AnswerWithText
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.mcp.tool_registry import TOOLS, Tool, ToolFailedError
from docmill.web.mcp.untrusted_text import NOTICE, enclosed

INSTRUCTIONS = (
    "docmill holds documents such as invoices, orders and bank statements, with the values that were read"
    " from them. Begin with `search_documents`; `get_document` has the values of one, `get_page_text` its"
    " text. A value whose `certainty` is not `confirmed` or `sure` needs a look by a person: say so when you"
    f" use it, and name the page. {NOTICE} The content of an answer stands between two lines that share a"
    " random mark."
)

_JSON = "application/json"
_DOCUMENT = "docmill://documents/{document_id}"
_DOCUMENT_ADDRESS = re.compile(r"docmill://documents/([0-9A-Fa-f-]{32,36})")

_Request = ServerRequestContext[Any, Any]


def build_server(context: ToolContext) -> Server[Any]:
    """Build the server for one caller, which lists and calls what that caller may use, and nothing else."""
    calls = _Calls(context)
    server = Server[Any](
        "docmill",
        version=version("docmill"),
        title="docmill",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=calls.input_schema,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
        on_list_resources=calls.list_resources,
        on_list_resource_templates=calls.list_resource_templates,
        on_read_resource=calls.read_resource,
    )
    server.middleware.clear()  # it sends spans to whatever the environment names; ours are of the web server
    return server


class _Calls:
    """The requests of one caller."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def _tool(self, name: str) -> Tool[Any] | None:
        tool = TOOLS.get(name)
        return tool if tool is not None and tool.is_for(self._context) else None

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tool(name)
        return tool.input_schema if tool else None

    async def list_tools(self, _: _Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values() if tool.is_for(self._context)])

    async def call_tool(self, _: _Request, params: CallToolRequestParams) -> CallToolResult:
        tool = self._tool(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name[:100]!r} here, or not for you.")
        try:
            answer = await tool.call(self._context, params.arguments or {})
        except ToolFailedError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        content = answer.model_dump_json()
        blocks = enclosed(content) if isinstance(answer, AnswerWithText) else (content,)
        return CallToolResult(
            content=[TextContent(text=text) for text in blocks],
            structured_content=answer.model_dump(mode="json"),
        )

    async def list_resources(self, _: _Request, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[]
        )  # there may be millions; the template says how they are called

    async def list_resource_templates(
        self, _: _Request, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=_DOCUMENT,
            name="document",
            title="Document",
            description=TOOLS["get_document"].description,
            mime_type=_JSON,
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: _Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        address = _DOCUMENT_ADDRESS.fullmatch(str(params.uri))
        if address is None:
            raise MCPError(INVALID_PARAMS, f"Resources here are called {_DOCUMENT}.")
        try:
            answer = await TOOLS["get_document"].call(self._context, {"document_id": address[1]})
        except ToolFailedError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        text = answer.model_dump_json()
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=_JSON, text=text)])


def _listed(tool: Tool[Any]) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.needs == "read",
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )
