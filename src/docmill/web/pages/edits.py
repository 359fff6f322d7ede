"""Forms that change a document itself: its title, date and archive serial number."""

from typing import Annotated, Literal

from fastapi import Form, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from docmill.errors import OutdatedError
from docmill.service.review.review import InvalidValuesError
from docmill.service.store.documents import DocumentRow
from docmill.service.store.reviews import DATE, SERIAL_NUMBER, TITLE
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, parse_document_id
from docmill.web.languages import gettext_noop
from docmill.web.pages.documents import RefusedReview, document_page

router = Router(include_in_schema=False)

_Text = Annotated[str, Field(max_length=1000)]
_CHANGED = gettext_noop(
    "Somebody has changed the title, date or number meanwhile. Look at them as they are now."
)


class EditForm(BaseModel):
    """The form with which a person edits the document itself. seen_…: the values as the form showed them."""

    title: _Text = ""
    document_date: _Text = ""
    archive_serial_number: _Text = ""
    seen_title: _Text = ""
    seen_date: _Text = ""
    seen_number: _Text = ""
    undo: Literal["title", "document_date", "archive_serial_number"] | None = None

    @property
    def edits(self) -> dict[str, str | None]:
        """What the person changed, by the path of its review; None where an edit is taken back."""
        if self.undo is not None:
            return {f":{self.undo}": None}
        edits: dict[str, str | None] = {}
        if self.title.strip() != self.seen_title.strip():
            edits[TITLE] = self.title
        if self.document_date != self.seen_date:
            edits[DATE] = self.document_date
        if self.archive_serial_number.strip() != self.seen_number:
            edits[SERIAL_NUMBER] = self.archive_serial_number
        return edits

    def shows(self, row: DocumentRow) -> bool:
        """Return whether the form showed what the document has now."""
        day = row.document_date.isoformat() if row.document_date else ""
        number = "" if row.archive_serial_number is None else str(row.archive_serial_number)
        shown = (self.seen_title.strip(), self.seen_date, self.seen_number)
        return shown == ((row.title or "").strip(), day, number)


@router.post("/docs/{document_id}/edit")
@needs("review")
async def edit_document(
    request: Request, document_id: str, vault: TheVault, form: Annotated[EditForm, Form()]
) -> Response:
    """Give the document a title, date and number, or take them back, and go back to its page."""
    key = parse_document_id(document_id)
    row = await vault.document(key)
    versions = {row.version} if form.shows(row) else ()
    try:
        if form.edits:
            await vault.edit(key, form.edits, versions=versions)
    except InvalidValuesError as error:
        refused = RefusedReview("", "", error.message, 422)
    except OutdatedError:
        refused = RefusedReview("", "", _CHANGED, 409)
    else:
        return RedirectResponse(f"/docs/{key}#edit", 303)
    return await document_page(request, key, vault, refused=refused)


@router.get("/docs/{document_id}/edit")
@needs("read")
async def back(document_id: str) -> RedirectResponse:
    """Go to the document: a refused form leaves the browser at this address."""
    return RedirectResponse(f"/docs/{parse_document_id(document_id)}", 303)
