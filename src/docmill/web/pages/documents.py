"""The documents page with its cards, the page of one document, and the forms on both."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import EncryptedError
from docmill.service.store import documents, events, ingestions, near_duplicates, parts, pauses
from docmill.service.store.database import Conn
from docmill.service.store.documents import DocumentRow
from docmill.service.store.reviews import DATE, TITLE
from docmill.web.context import TheVault, Vault, parse_document_id, parse_id
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.templating import THEME_COOKIE, THEMES
from docmill.web.uploads import receive, upload_status
from docmill.web.view.cards import Card, card, money, title
from docmill.web.view.document import TABS, document_view, failures_of, page_count_of, result_of, select_page
from docmill.web.view.words import STATES, type_choices, type_name

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 24
EDITED = frozenset({TITLE, DATE})
_LONGEST_QUERY = 200
_YEAR_S = 365 * 24 * 3600
_MOST_CARDS = 100
_MOST_DELETED = 200
_MOST_DIGITS = 6


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


@dataclass(frozen=True, slots=True)
class Done:
    """What a form has just done to several documents. deleted: those to restore; sent: to be read again."""

    deleted: Sequence[UUID] = ()
    sent: int | None = None
    refused: int = 0

    @classmethod
    def of(cls, deleted: str = "", sent: str = "", refused: str = "") -> "Done":
        """Read it from the address. Anything else there is ignored."""
        ids = [key for text in deleted.split(",")[:_MOST_DELETED] if (key := parse_id(text))]
        return cls(ids, _count(sent), _count(refused) or 0)


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


@router.get("/")
async def show_documents(
    request: Request,
    vault: TheVault,
    *,
    q: str = "",
    state: str = "",
    document_type: Annotated[str, Query(alias="type")] = "",
    after: str = "",
    done: Annotated[Done, Depends(Done.of)],
) -> HTMLResponse:
    """One page of documents. done: what a form on it has just done."""
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
    return vault.templates.page(
        request,
        "documents.html",
        types=type_choices(types),
        filters=filters,
        cards=cards,
        counts=counts,
        follow=filters.link(after=rows[PAGE_SIZE - 1].id) if len(rows) > PAGE_SIZE else None,
        done=done,
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
    await vault.reprocess(parse_document_id(document_id))
    return RedirectResponse(local_address(to), 303)


@router.post("/theme")
async def set_theme(
    *, theme: Annotated[str, Form()], to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Remember the theme, and go back."""
    response = RedirectResponse(local_address(to), 303)
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


async def document_page(
    request: Request,
    document_id: UUID,
    vault: Vault,
    *,
    page: str = "1",
    tab: str = "",
    field: str = "",
    wrong_password: str | None = None,
    refused_review: RefusedReview | None = None,
) -> HTMLResponse:
    """Build the page. wrong_password: the message about the password just given."""
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the document, so that no change falls between
        paused = await pauses.current(conn)
    row, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    choice = select_page(page, tab, field, page_count=page_count_of(row, transcription))
    return vault.templates.page(
        request,
        "document.html",
        view=document_view(row, history, transcription, choice, await vault.reviewed(document_id)),
        links=await vault.links(document_id),
        edits=(await vault.current_reviews(document_id)).keys() & EDITED,
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
        refused_review=refused_review,
        status_code=422 if wrong_password else refused_review.status if refused_review else 200,
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


def local_address(path: str) -> str:
    """Return `path` if it is an address of this vault, else that of the documents page."""
    leads_away = not path.startswith("/") or path.startswith("//") or "\\" in path
    return "/" if leads_away else path
