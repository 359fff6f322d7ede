"""A request of the protocol by HTTP: the SDK's transport without sessions, so that any web server answers."""

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from docmill.web.mcp.document_filing import MOST_CONTENT_CHARACTERS
from docmill.web.mcp.protocol_server import build_server
from docmill.web.mcp.tool_context import ToolContext

_MOST_READING_BYTES = 100_000
_MOST_BYTES = MOST_CONTENT_CHARACTERS + _MOST_READING_BYTES


class ProtocolResponse(Response):
    """The answer to a request of a caller. Host and origin of the request were checked before."""

    def __init__(self, context: ToolContext) -> None:
        super().__init__()
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        may_file = "write" in self._context.vault.access.allows
        manager = StreamableHTTPSessionManager(
            build_server(self._context),
            json_response=True,
            stateless=True,
            max_request_body_size=_MOST_BYTES if may_file else _MOST_READING_BYTES,
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)
