"""HEAD for every address that takes GET."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ANSWERED_BY_ITSELF = "/file"
"""The end of addresses whose route answers HEAD, without opening the file."""


class HeadRequests:
    """Middleware that answers HEAD as GET, without the body. A stream ends after its headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if (
            scope["type"] != "http"
            or scope["method"] != "HEAD"
            or scope["path"].endswith(_ANSWERED_BY_ITSELF)
        ):
            await self._app(scope, receive, send)
            return
        is_answered = False

        async def send_headers(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                is_answered = True

        async def receive_until_answered() -> Message:
            return {"type": "http.disconnect"} if is_answered else await receive()

        await self._app({**scope, "method": "GET"}, receive_until_answered, send_headers)
