"""A cookie for a way to another site and back: it binds the answer to the browser that was sent there."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from docmill.errors import ValidationError
from docmill.text_input import check_texts

_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class ReturnCookie:
    """The cookie of one kind of way. path: of the page to which the other site sends back."""

    name: str
    path: str

    def send(self, request: Request, address: str, content: Mapping[str, Any]) -> Response:
        """Send the browser to an address, and let it keep `content` for ten minutes."""
        response = RedirectResponse(address, 303)
        # Lax, and not strict: the browser comes back from another site.
        response.set_cookie(
            self.name,
            base64.urlsafe_b64encode(json.dumps(content).encode()).decode(),
            max_age=_LIMIT_S,
            path=self.path,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return response

    def content(self, request: Request) -> dict[str, Any]:
        """The content that the browser kept; empty if it kept nothing, or nonsense."""
        try:
            content: object = json.loads(base64.urlsafe_b64decode(request.cookies.get(self.name, "")))
            check_texts(content)
        except (ValueError, RecursionError, ValidationError):
            return {}
        return cast("dict[str, Any]", content) if isinstance(content, dict) else {}

    def forget(self, response: Response) -> None:
        """Let the browser forget it."""
        response.delete_cookie(self.name, path=self.path)
