"""Whole addresses of this vault, for mails, other sites, programs and people elsewhere."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import Request
from starlette.datastructures import URL

if TYPE_CHECKING:
    from docmill.service.config.web import Web


def absolute_address(request: Request, path: str, **query: str) -> str:
    """Return the whole address of a path of this vault.

    It begins with `web.public_url`. Without that setting it begins with the name under which the request
    came, which is a configured one: `TrustedRequestsOnly` answers no other.
    """
    web: Web = request.app.state.vault.settings.web
    tail = f"?{urlencode(query)}" if query else ""
    if web.public_url is not None:
        return f"{web.public_url}{path}{tail}"
    return str(URL(scope=request.scope).replace(path=path, query=tail[1:], fragment=""))


def absolute_url(request: Request) -> URL:
    """Return the address of a request with its query, as `absolute_address` begins it."""
    return URL(absolute_address(request, request.url.path)).replace(query=request.url.query)
