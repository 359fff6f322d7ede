"""Forms for reviewing the values of a document."""

from collections.abc import Awaitable, Mapping
from typing import Annotated, Literal, cast
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from docmill.errors import ChangedError, ValidationError
from docmill.service.review.review import FieldReview, InvalidValuesError, shown
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found, parse_document_id
from docmill.web.pages.documents import RefusedReview, RefusedRow, document_page, open_question
from docmill.web.reviewing import base_of, check_lock, drop_draft, keep_draft
from docmill.web.view.document import UNCERTAINTY_CHECKS
from docmill.web.view.fields import element_id, without_repeats
from docmill.web.view.places import parse_box, text_within

router = Router(include_in_schema=False)

_Text = Annotated[str, Field(max_length=20_000)]
_Id = Annotated[UUID, Form()]
_Number = Annotated[str, Field(max_length=10)]
_TYPED_IS_NOT_SAVED = "Nothing was confirmed, because this is not saved. Correct it and save it, or drop it."


class ReviewForm(BaseModel):
    """The form with which a person reviews one value.

    page: the page that is shown. suggestion: the one that is accepted, as shown. keep: the value that holds
    meanwhile, which the person replaces by what was typed. box: where the person pointed on that page.
    """

    ingestion_id: UUID
    path: Annotated[str, Field(max_length=300)]
    seen: _Text = ""
    value: _Text = ""
    page: _Number = "1"
    box: Annotated[str, Field(max_length=200)] = ""
    action: Literal["say", "undo", "drop", "remove"] = "say"
    suggestion: _Text | None = None
    keep: _Text | None = None

    @property
    def field_review(self) -> FieldReview:
        """The review: an unchanged value is confirmed, a changed one corrected, an emptied one cleared."""
        seen = self.seen if self.keep is None else self.keep
        seen, value = seen.replace("\r\n", "\n"), self.value.replace("\r\n", "\n")  # as forms send it
        if self.action == "undo":
            return FieldReview(self.path, "undo", seen=seen)
        if self.action == "remove":
            return FieldReview(self.path, "remove")
        if value.strip() == seen.strip():
            return FieldReview(self.path, "confirm", seen=seen)
        if not value.strip():
            return FieldReview(self.path, "clear", seen=seen)
        box = parse_box(self.box)
        page = int(self.page) if box and self.page.isdecimal() else None
        return FieldReview(
            self.path, "correct", value, seen=seen, page=page, box=box if page else None, is_typed=True
        )


@router.post("/docs/{document_id}/reviews")
@router.post("/review/{document_id}/reviews")
@needs("review")
async def add_review(
    request: Request, document_id: str, vault: TheVault, form: Annotated[ReviewForm, Form()]
) -> Response:
    """Confirm, correct or clear a value, undo its review, or drop what was typed into it."""
    key = parse_document_id(document_id)

    async def store() -> bool:
        if form.action == "drop":
            await vault.document(key)
            return True
        await check_lock(request, vault, key)
        review = form.field_review if form.suggestion is None else await _accepted(form, key, vault)
        return await vault.service.reviews.add(
            key,
            [review],
            tenant_id=vault.tenant_id,
            ingestion_id=form.ingestion_id,
            reviewed_by=vault.user_id,
        )

    return await _answer(request, key, vault, store(), page=form.page, form=form)


@router.post("/docs/{document_id}/reviews/row")
@router.post("/review/{document_id}/reviews/row")
@needs("review")
async def add_row(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    table: Annotated[str, Form(max_length=100)],
    page: Annotated[_Number, Form()] = "1",
) -> Response:
    """Add a row to a list: all its values at once, or none."""
    key = parse_document_id(document_id)
    sent = await request.form()
    typed = {
        name.removeprefix("column."): value.strip()
        for name, value in sent.items()
        if name.startswith("column.") and isinstance(value, str) and value.strip()
    }
    try:
        await check_lock(request, vault, key)
        reviews = await _row_reviews(vault, key, table, typed)
        is_stored = await vault.service.reviews.add(
            key,
            reviews,
            tenant_id=vault.tenant_id,
            ingestion_id=ingestion_id,
            reviewed_by=vault.user_id,
        )
    except (InvalidValuesError, ChangedError) as error:
        refused = RefusedRow(table, typed, error.message)
        return await document_page(request, key, vault, page=page, refused=refused)
    if not is_stored:
        raise not_found()
    return RedirectResponse(f"{base_of(request, key)}?{urlencode({'page': page})}#{table}-new", 303)


@router.post("/docs/{document_id}/reviews/check")
@router.post("/review/{document_id}/reviews/check")
@needs("review", logged=False)
async def check_typed(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    path: Annotated[list[str], Form(max_length=500)],
    typed: Annotated[list[str], Form(max_length=500)],
) -> HTMLResponse:
    """The checks that would fail with what is typed. Nothing is stored."""
    key = parse_document_id(document_id)
    reviews = [
        FieldReview(name, "correct" if text.strip() else "clear", text, is_typed=True)
        for name, text in zip(path, typed, strict=False)
    ]
    faults: list[str] = []
    try:
        failures = await vault.service.reviews.check(key, reviews, tenant_id=vault.tenant_id)
    except InvalidValuesError as error:
        faults, failures = list(error.faults.values()), []
    if failures is None:
        raise not_found()
    wanted = [failure for failure in failures if failure.check not in UNCERTAINTY_CHECKS]
    return vault.templates.page(request, "_live_checks.html", faults=faults, failures=without_repeats(wanted))


@router.post("/docs/{document_id}/read")
@router.post("/review/{document_id}/read")
@needs("review", logged=False)
async def read_place(
    document_id: str,
    vault: TheVault,
    *,
    page: Annotated[int, Form(ge=1)],
    box: Annotated[str, Form(max_length=200)],
) -> JSONResponse:
    """The text within a box on a page, line by line, as it was read there."""
    _, history = await vault.document_with_history(parse_document_id(document_id))
    place = parse_box(box)
    transcription = await vault.transcription(history)
    pages = transcription.pages if transcription else ()
    shown_page = next((each for each in pages if each.number == page), None)
    if place is None or shown_page is None:
        raise ValidationError("There is no such place on the pages of this document.")
    return JSONResponse({"text": text_within(shown_page, place)})


@router.post("/docs/{document_id}/reviews/confirm")
@router.post("/review/{document_id}/reviews/confirm")
@needs("review")
async def confirm_all(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: Annotated[_Number, Form()] = "1",
    refused: Annotated[str, Form(max_length=300)] = "",
    typed: Annotated[_Text, Form()] = "",
    reason: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    """Confirm every value without a review; while any is open, go to the first open one.

    reason: why the open values are confirmed without a look at them. refused: the path of a field that shows
    `typed`, which was refused. Nothing is confirmed then, since the
    value that is kept is not the one that the person sees.
    """
    key = parse_document_id(document_id)
    if refused:
        review = RefusedReview(refused, typed, _TYPED_IS_NOT_SAVED, 422)
        return await document_page(request, key, vault, page=page, field=refused, refused=review)
    question = await open_question(vault, key, reason=reason, page=page)
    if question is not None:
        return await document_page(
            request, key, vault, page=question.page, field=question.field, refused=question
        )
    storing = vault.service.reviews.confirm_all(
        key,
        tenant_id=vault.tenant_id,
        ingestion_id=ingestion_id,
        reviewed_by=vault.user_id,
        reason=reason.strip() or None,
    )
    return await _answer(request, key, vault, storing, page=page)


@router.post("/docs/{document_id}/reviews/undo")
@router.post("/review/{document_id}/reviews/undo")
@needs("review")
async def undo_last(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: Annotated[_Number, Form()] = "1",
) -> Response:
    """Undo the last reviews."""
    key = parse_document_id(document_id)

    async def store() -> bool:
        await check_lock(request, vault, key)
        return await vault.service.reviews.undo_last(
            key, tenant_id=vault.tenant_id, ingestion_id=ingestion_id, reviewed_by=vault.user_id
        )

    return await _answer(request, key, vault, store(), page=page)


@router.post("/docs/{document_id}/reviews/redo")
@router.post("/review/{document_id}/reviews/redo")
@needs("review")
async def redo_last(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: Annotated[_Number, Form()] = "1",
) -> Response:
    """Repeat what was undone last."""
    key = parse_document_id(document_id)

    async def store() -> bool:
        await check_lock(request, vault, key)
        return await vault.service.reviews.redo_last(
            key, tenant_id=vault.tenant_id, ingestion_id=ingestion_id, reviewed_by=vault.user_id
        )

    return await _answer(request, key, vault, store(), page=page)


@router.post("/docs/{document_id}/type")
@router.post("/review/{document_id}/type")
@needs("review")
async def choose_type(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    document_type: Annotated[str, Form(max_length=100)],
    undo: Annotated[bool, Form()] = False,
    seen: Annotated[str | None, Form(max_length=100)] = None,
) -> Response:
    """Give the document a type, or take the choice back, and go back to its page."""
    key = parse_document_id(document_id)
    try:
        await vault.choose_type(key, None if undo else document_type, seen=seen)
    except ChangedError as error:
        refused = RefusedReview("", "", error.message, 409)
        return await document_page(request, key, vault, refused=refused)
    return RedirectResponse(f"{base_of(request, key)}#type", 303)


@router.post("/docs/{document_id}/duplicates")
@router.post("/review/{document_id}/duplicates")
@needs("review")
async def decide_duplicate(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    other_id: _Id,
    decision: Annotated[Literal["same", "different", "undo"], Form()],
) -> Response:
    """Keep whether two documents are the same, and go back to the page."""
    key = parse_document_id(document_id)
    is_duplicate = {"same": True, "different": False, "undo": None}[decision]
    await vault.decide_duplicate(key, other_id, is_duplicate=is_duplicate)
    return RedirectResponse(base_of(request, key), 303)


@router.get("/docs/{document_id}/duplicates")
@router.get("/docs/{document_id}/type")
@router.get("/docs/{document_id}/reviews")
@router.get("/docs/{document_id}/reviews/confirm")
@router.get("/docs/{document_id}/reviews/undo")
@router.get("/docs/{document_id}/reviews/redo")
@router.get("/docs/{document_id}/reviews/row")
@router.get("/review/{document_id}/reviews/row")
@router.get("/review/{document_id}/duplicates")
@router.get("/review/{document_id}/type")
@router.get("/review/{document_id}/reviews")
@router.get("/review/{document_id}/reviews/confirm")
@router.get("/review/{document_id}/reviews/undo")
@router.get("/review/{document_id}/reviews/redo")
@needs("read")
async def back(request: Request, document_id: str) -> RedirectResponse:
    """Go to the document: a refused form leaves the browser at these addresses."""
    return RedirectResponse(f"{base_of(request, parse_document_id(document_id))}?{request.url.query}", 303)


async def _row_reviews(
    vault: Vault, document_id: UUID, table: str, typed: Mapping[str, str]
) -> list[FieldReview]:
    """The values of a new row at the end of a list. Raises InvalidValuesError for a row without any."""
    reviewed = await vault.reviewed(document_id)
    rows = (reviewed.result.data or {}).get(table) if reviewed else None
    count = len(cast("list[object]", rows)) if isinstance(rows, list) else 0
    if not typed:
        raise InvalidValuesError({table: "Please give at least one value of the row."})
    return [
        FieldReview(f"{table}[{count}].{column}", "correct", value, is_typed=True)
        for column, value in typed.items()
    ]


async def _accepted(form: ReviewForm, document_id: UUID, vault: Vault) -> FieldReview:
    """The review that accepts a suggestion. Raises ChangedError if it is there no more."""
    reviewed = await vault.reviewed(document_id)
    suggestions = reviewed.suggestions.get(form.path, ()) if reviewed else ()
    seen = (form.suggestion or "").replace("\r\n", "\n")  # as forms send it
    suggestion = next((each for each in suggestions if shown(each.value) == seen), None)
    if suggestion is None:
        raise ChangedError("This suggestion is gone. Look at the value as it is now.")
    proof = suggestion.evidence
    page = proof.page if proof.box else None
    box = proof.box if page else None
    return FieldReview(form.path, "correct", suggestion.value, seen=form.seen, page=page, box=box)


async def _answer(
    request: Request,
    document_id: UUID,
    vault: Vault,
    storing: Awaitable[bool],
    *,
    page: str,
    form: ReviewForm | None = None,
) -> Response:
    """Store the reviews and go back to the reviewed value; if refused, show the page with what was typed.

    form: of one value. What was typed and refused is kept as a draft, what was stored is one no longer.
    """
    path = None if form is None else form.path
    try:
        if not await storing:
            raise not_found()
    except InvalidValuesError as error:
        refused = RefusedReview(path or "", form.value if form else "", error.message, 422)
    except ChangedError as error:
        refused = RefusedReview("", "", error.message, 409)
    else:
        if path is not None:
            await drop_draft(vault, document_id, path=path)
        query = {"page": page} if path is None else {"page": page, "field": path}
        anchor = "panel" if path is None else element_id(path)
        return RedirectResponse(f"{base_of(request, document_id)}?{urlencode(query)}#{anchor}", 303)
    if form is not None and form.action == "say" and form.suggestion is None:
        typed, seen = form.value.replace("\r\n", "\n"), form.seen.replace("\r\n", "\n")
        await keep_draft(vault, document_id, path=form.path, typed=typed, seen=seen)
    return await document_page(request, document_id, vault, page=page, field=path or "", refused=refused)
