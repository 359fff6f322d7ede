"""A request whose texts are checked before a route sees them."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from docmill.errors import ValidationError
from docmill.text_input import check_text, check_texts

_OWN_COOKIES = "docmill-"
"""Other programs on this machine may share the name, and with it their cookies."""


class CheckedRequest(Request):
    """A request that answers 422 if a text in it cannot be encoded or stored; see `check_text`.

    Headers need no check: their bytes are read as Latin-1, and the server refuses NUL in them.
    """

    def check_head(self) -> None:
        """Check path, query and cookies."""
        with _told():
            check_text(self.url.path)
            check_texts(self.query_params.multi_items())
            for name, value in self.cookies.items():
                if name.startswith(_OWN_COOKIES):
                    check_text(value)

    async def json(self) -> Any:  # noqa: ANN401  as the class above has it
        """See Request."""
        content = await super().json()
        with _told():
            check_texts(content)
        return content

    async def _get_form(self, **limits: Any) -> FormData:  # noqa: ANN401  as the class above has it
        form = await super()._get_form(**limits)
        with _told():
            for name, value in form.multi_items():
                check_text(name)
                check_text(value if isinstance(value, str) else value.filename or "")
        return form


@contextmanager
def _told() -> Generator[None]:
    """Answer 422; another error would be told as one of the parser, without its reason."""
    try:
        yield
    except ValidationError as error:
        raise HTTPException(422, error.message) from error
