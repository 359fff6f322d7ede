"""The route of the MCP server, for programs that send an API key."""

import asyncio
from importlib import import_module
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from docmill.web.access import MCP_PATH, Router, client_address, needs
from docmill.web.context import TheVault
from docmill.web.mcp.tool_context import ToolContext

router = Router(include_in_schema=False)


@router.post(MCP_PATH)
@needs("read")
async def serve_mcp(request: Request, vault: TheVault) -> Response:
    """Answer a request of the Model Context Protocol. Filing is logged by its tool."""
    transport = await _transport()
    response: Response = transport.ProtocolResponse(ToolContext(vault, client_address(request)))
    return response


async def _transport() -> Any:  # noqa: ANN401  a module
    """Load the transport when the first request comes, in a thread: it takes half a second.

    Answers 404 without the extra `mcp`.
    """
    try:
        return await asyncio.to_thread(import_module, "docmill.web.mcp.http_transport")
    except ModuleNotFoundError as error:
        raise HTTPException(
            404, "This vault has no MCP server; it needs the extra 'docmill[mcp]'."
        ) from error
