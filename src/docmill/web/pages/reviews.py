"""Forms for reviewing the values of a document."""

from collections.abc import Awaitable
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from docmill.errors import ChangedError
from docmill.service.review.review import FieldReview, InvalidValuesError
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.pages.document import Refusal, document_page, known_id
from docmill.web.view.fields import element_id

router = APIRouter(include_in_schema=False)

_Text = Annotated[str, Field(max_length=20_000)]
_Id = Annotated[UUID, Form()]
_Number = Annotated[str, Field(max_length=10)]


class ReviewForm(BaseModel):
    """The form with which a person reviews one value. page: the page that is shown."""

    ingestion_id: UUID
    path: Annotated[str, Field(max_length=300)]
    seen: _Text = ""
    value: _Text = ""
    page: _Number = "1"
    action: Literal["say", "undo"] = "say"

    @property
    def field_review(self) -> FieldReview:
        """A value as it was shown is confirmed, one that is not is corrected, an emptied one cleared."""
        seen, value = _lines(self.seen), _lines(self.value)
        if self.action == "undo":
            return FieldReview(self.path, "undo", seen=seen)
        if value.strip() == seen.strip():
            return FieldReview(self.path, "confirm", seen=seen)
        if not value.strip():
            return FieldReview(self.path, "clear", seen=seen)
        return FieldReview(self.path, "correct", value, seen=seen, is_typed=True)


@router.post("/docs/{document_id}/reviews")
async def say(
    request: Request, document_id: str, vault: TheVault, said: Annotated[ReviewForm, Form()]
) -> Response:
    """Confirm, correct or clear a value, or undo its review."""
    known = known_id(document_id)
    keeping = vault.service.reviews.add(
        known, [said.field_review], tenant_id=vault.tenant_id, ingestion_id=said.ingestion_id
    )
    return await _answer(request, known, vault, keeping, page=said.page, path=said.path, typed=said.value)


@router.post("/docs/{document_id}/reviews/confirm")
async def confirm_all(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: Annotated[_Number, Form()] = "1",
) -> Response:
    """Confirm every value without a review."""
    known = known_id(document_id)
    keeping = vault.service.reviews.confirm_all(known, tenant_id=vault.tenant_id, ingestion_id=ingestion_id)
    return await _answer(request, known, vault, keeping, page=page)


@router.post("/docs/{document_id}/reviews/undo")
async def undo_last(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: Annotated[_Number, Form()] = "1",
) -> Response:
    """Undo the last reviews."""
    known = known_id(document_id)
    keeping = vault.service.reviews.undo_last(known, tenant_id=vault.tenant_id, ingestion_id=ingestion_id)
    return await _answer(request, known, vault, keeping, page=page)


@router.get("/docs/{document_id}/reviews")
@router.get("/docs/{document_id}/reviews/confirm")
@router.get("/docs/{document_id}/reviews/undo")
async def back(request: Request, document_id: str) -> RedirectResponse:
    """To the document, from a page that a refusal left at the address of its form."""
    return RedirectResponse(f"/docs/{known_id(document_id)}?{request.url.query}", 303)


def _lines(text: str) -> str:
    """As it was before a form sent it."""
    return text.replace("\r\n", "\n")


async def _answer(
    request: Request,
    known: UUID,
    vault: Vault,
    keeping: Awaitable[bool],
    *,
    page: str,
    path: str | None = None,
    typed: str = "",
) -> Response:
    """Back to the document, at what was spoken of; or the page again, with what was typed and why not."""
    try:
        if not await keeping:
            raise not_found()
    except InvalidValuesError as error:
        refusal = Refusal(path or "", typed, error.message, 422)
    except ChangedError as error:
        refusal = Refusal("", "", error.message, 409)
    else:
        where = {"page": page} if path is None else {"page": page, "field": path}
        place = "panel" if path is None else element_id(path)
        return RedirectResponse(f"/docs/{known}?{urlencode(where)}#{place}", 303)
    return await document_page(request, known, vault, page=page, field=path or "", refused=refusal)
