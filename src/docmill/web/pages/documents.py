"""The documents page with its cards, the page of one document, and the forms on both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import EncryptedError
from docmill.model.document import Document
from docmill.service.store import (
    documents,
    events,
    ingestions,
    near_duplicates,
    parts,
    pauses,
    review_queue,
)
from docmill.service.store.database import Conn
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.web.context import TheVault, Vault, parse_document_id, parse_id
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.reviewing import base_of, drafts_of, is_in_queue, queue_view
from docmill.web.templating import THEME_COOKIE, THEMES
from docmill.web.uploads import receive, upload_status
from docmill.web.view.cards import Card, card, money, title
from docmill.web.view.document import (
    TABS,
    DocumentView,
    PageSelection,
    document_view,
    failures_of,
    page_count_of,
    result_of,
    select_page,
)
from docmill.web.view.words import STATES, type_choices, type_name

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 24
_LONGEST_QUERY = 200
_YEAR_S = 365 * 24 * 3600
_MOST_CARDS = 100
MOST_COUNTED = 100
"""Documents to review that the header counts to, which every page has."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on. without: the address without it."""

    name: str
    without: str


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters in the address. Unknown values are ignored."""

    query: str = ""
    state: str = ""
    document_type: str = ""
    after: UUID | None = None

    @classmethod
    def of(
        cls, query: str, state: str, document_type: str, after: str, *, types: Collection[str]
    ) -> "Filters":
        """Build the filters from the address. types: that documents can have."""
        return cls(
            query=query.strip()[:_LONGEST_QUERY],
            state=state if state in STATES else "",
            document_type=document_type if document_type in types else "",
            after=parse_id(after),
        )

    @property
    def are_set(self) -> bool:
        """True if any filter is on."""
        return bool(self.query or self.state or self.document_type)

    @property
    def chips(self) -> list[Chip]:
        """The filters that are on, each with the address without it."""
        chips: list[Chip] = []
        if self.query:
            chips.append(
                Chip(self.query if '"' in self.query else f"“{self.query}”", replace(self, query="").link())
            )
        if self.state:
            chips.append(Chip(STATES[self.state].name, replace(self, state="").link()))
        if self.document_type:
            chips.append(Chip(type_name(self.document_type), replace(self, document_type="").link()))
        return chips

    def link(self, after: UUID | None = None) -> str:
        """The address with these filters: the first page, or the one after document `after`."""
        query = {"q": self.query, "state": self.state, "type": self.document_type, "after": str(after or "")}
        return "/?" + urlencode({key: value for key, value in query.items() if value})


@router.get("/")
async def show_documents(
    request: Request,
    vault: TheVault,
    *,
    q: str = "",
    state: str = "",
    document_type: Annotated[str, Query(alias="type")] = "",
    after: str = "",
) -> HTMLResponse:
    """One page of documents."""
    types = vault.service.type_choices.types
    filters = Filters.of(q, state, document_type, after, types=types)
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the cards, so that no change falls between
        rows = await documents.page(
            conn,
            state=filters.state or None,
            document_type=filters.document_type or None,
            query=filters.query or None,
            after=filters.after,
            limit=PAGE_SIZE + 1,
        )
        counts = await documents.counts(conn)
        cards = await _cards(conn, rows[:PAGE_SIZE], filters.query)
        paused = await pauses.current(conn)
        review_count = await review_queue.count(conn, most=MOST_COUNTED)
    return vault.templates.page(
        request,
        "documents.html",
        review_count=review_count,
        types=type_choices(types),
        filters=filters,
        cards=cards,
        counts=counts,
        follow=filters.link(after=rows[PAGE_SIZE - 1].id) if len(rows) > PAGE_SIZE else None,
        last_event=last_event,
        pauses=paused,
        limit_bytes=vault.settings.limits.file_bytes,
    )


@router.get("/cards")
async def show_cards(
    request: Request,
    vault: TheVault,
    id: Annotated[list[UUID], Query(max_length=_MOST_CARDS)],  # noqa: A002  the parameter's name in the address
    *,
    q: Annotated[str, Query(max_length=200)] = "",
) -> HTMLResponse:
    """The cards of some documents, to take the place of older ones. Those that are gone are left out.

    q: what is searched for, as on the page that shows them.
    """
    async with vault.connection() as conn:
        rows = [row for document_id in id if (row := await documents.get(conn, document_id))]
        cards = await _cards(conn, rows, q)
    return vault.templates.page(request, "cards.html", cards=cards)


@router.get("/pauses")
async def show_pauses(request: Request, vault: TheVault) -> HTMLResponse:
    """The current pauses, for a page that replaces what it shows of them."""
    async with vault.connection() as conn:
        return vault.templates.page(request, "_pauses.html", pauses=await pauses.current(conn))


@router.post("/upload")
async def upload(request: Request, vault: TheVault) -> HTMLResponse:
    """Take in the files of the form, and list the outcome of each."""
    results = await receive(request, vault)
    return vault.templates.page(request, "uploaded.html", status_code=upload_status(results), results=results)


@router.post("/docs/{document_id}/retry")
async def retry(
    document_id: str, vault: TheVault, *, to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Have the document processed again, and go back to where the button was."""
    ingestion_id = await vault.reprocess(parse_document_id(document_id))
    address, _, query = _local_address(to).partition("?")
    if address != "/":  # the page of the document says what became of it
        kept = [(name, value) for name, value in parse_qsl(query) if name != "retried"]
        address += "?" + urlencode([*kept, ("retried", str(ingestion_id))])
    elif query:
        address += f"?{query}"
    return RedirectResponse(address, 303)


@router.post("/theme")
async def set_theme(
    *, theme: Annotated[str, Form()], to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Remember the theme, and go back."""
    response = RedirectResponse(_local_address(to), 303)
    if theme in THEMES:
        response.set_cookie(THEME_COOKIE, theme, max_age=_YEAR_S, httponly=True, samesite="lax")
    return response


@router.get("/docs/{document_id}")
async def show_document(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A page of the document with its boxes, and the values of all of it."""
    return await document_page(
        request, parse_document_id(document_id), vault, page=page, tab=tab, field=field
    )


@router.post("/docs/{document_id}/unlock")
async def unlock(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    password: Annotated[str, Form(min_length=1, max_length=1000)],
) -> Response:
    """Have a protected document read, and go back to its page; with a wrong password, ask again there."""
    key = parse_document_id(document_id)
    try:
        await vault.unlock(key, password)
    except EncryptedError as error:
        return await document_page(request, key, vault, wrong_password=error.message)
    return RedirectResponse(f"/docs/{key}", 303)


@dataclass(frozen=True, slots=True)
class RefusedReview:
    """A review that was refused, shown with the typed value. path: empty for the document as a whole."""

    path: str
    typed: str
    message: str
    status: int


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A new row of a list that was refused, shown with what was typed. table: the list. typed: by column."""

    table: str
    typed: Mapping[str, str]
    message: str
    status: int = 422


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What a person must look at before a document is approved.

    field: the path of the first open value, empty where a check or a duplicate is open. page: where it is.
    can_force: whether a reason is enough to approve it unseen.
    """

    message: str
    field: str = ""
    page: str = "1"
    can_force: bool = True
    status: int = 422


async def open_question(vault: Vault, document_id: UUID, *, reason: str, page: str) -> OpenQuestion | None:
    """What keeps a document from being approved; None if nothing does. reason: given for an unseen approval.

    page: the one that is shown. Answers 404 as `Vault.document` does.
    """
    row, history = await vault.document_with_history(document_id)
    view = await load_view(vault, row, history, select_page(page, "", "", page_count=1))
    if view.undecided_duplicates:
        message = "Please say first whether this document is a duplicate of another one."
        return OpenQuestion(message, page=page, can_force=False)
    paths = {field.path: field for field in view.values.all_fields}
    for path, draft in (await drafts_of(vault, document_id)).items():
        if path in paths and draft.typed.strip() != paths[path].value.strip():
            field = paths[path]
            message = f"What you typed into “{field.name}” is not saved yet. Save it or drop it first."
            return OpenQuestion(message, path, str(field.page or page), can_force=False)
    if reason.strip() or not view.open_count:
        return None
    words = "1 value or check is" if view.open_count == 1 else f"{view.open_count} values or checks are"
    first = view.open_fields[0] if view.open_fields else None
    return OpenQuestion(
        f"{words} still open. Look at each and press Enter, or say why you approve without a look.",
        first.path if first else "",
        str((first.page if first else None) or page),
    )


async def load_view(
    vault: Vault,
    row: DocumentRow,
    history: Sequence[IngestionRow],
    choice: PageSelection,
    transcription: Document | None = None,
) -> DocumentView:
    """Build the view of a document with its reviews. transcription: needed for what is drawn of its pages."""
    return document_view(row, history, transcription, choice, await vault.reviewed(row.id))


async def document_page(
    request: Request,
    document_id: UUID,
    vault: Vault,
    *,
    page: str = "1",
    tab: str = "",
    field: str = "",
    wrong_password: str | None = None,
    refused: RefusedReview | RefusedRow | OpenQuestion | None = None,
) -> HTMLResponse:
    """Build the page of a document, with the bar of the review queue below `/review/`.

    wrong_password: the message about the password just given. refused: what was just sent and not stored.
    """
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the document, so that no change falls between
        paused = await pauses.current(conn)
        review_count = await review_queue.count(conn, most=MOST_COUNTED)
    row, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    choice = select_page(page, tab, field, page_count=page_count_of(row, transcription))
    return vault.templates.page(
        request,
        "document.html",
        view=await load_view(vault, row, history, choice, transcription),
        base=base_of(request, document_id),
        queue=await queue_view(request, vault, document_id) if is_in_queue(request) else None,
        drafts=await drafts_of(vault, document_id),
        retried=next((each for each in history if str(each.id) == request.query_params.get("retried")), None),
        question=refused if isinstance(refused, OpenQuestion) else None,
        review_count=review_count,
        links=await vault.links(document_id),
        title=title(row),
        money=money(row.structured_data, row.document_type),
        is_viewable=is_viewable(row),
        picture_version=picture_version(row),
        tabs=TABS,
        types=type_choices(vault.service.type_choices.types),
        last_event=last_event,
        pauses=paused,
        asks_password=wrong_password is not None or await vault.asks_password(row),
        wrong_password=wrong_password,
        refused_review=refused if isinstance(refused, RefusedReview) else None,
        refused_row=refused if isinstance(refused, RefusedRow) else None,
        status_code=422 if wrong_password else refused.status if refused else 200,
    )


async def _cards(conn: Conn, rows: Sequence[DocumentRow], query: str) -> list[Card]:
    now = datetime.now(UTC)
    found = await documents.snippets(conn, [row.id for row in rows], query) if query else {}
    wholes = await parts.first_wholes(conn, [row.id for row in rows])
    cards: list[Card] = []
    for row in rows:
        failures: list[str] = []
        if row.state in ("needs_review", "needs_classification"):
            result = result_of(await ingestions.of_document(conn, row.id))
            pairs = await near_duplicates.of_document(conn, row.id)
            failures = [failure.message for failure in failures_of(row, result, pairs)]
        picture = picture_version(row) if is_viewable(row) else None
        cards.append(
            card(row, failures, picture=picture, whole=wholes.get(row.id), now=now, found=found.get(row.id))
        )
    return cards


def _local_address(path: str) -> str:
    """Return `path` if it is an address of this vault, else that of the documents page."""
    leads_away = not path.startswith("/") or path.startswith("//") or "\\" in path
    return "/" if leads_away else path
