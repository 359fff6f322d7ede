"""The documents page with its cards, the page of one document, and the forms on both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Depends, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import EncryptedError
from docmill.model.document import Document
from docmill.service.review.edits import EDITED
from docmill.service.store import (
    doc_sources,
    document_list,
    documents,
    events,
    ingestions,
    near_duplicates,
    notes,
    parts,
    pauses,
    review_queue,
    saved_views,
    tags,
)
from docmill.service.store.database import Conn
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.web.access import Router, local_address, needs
from docmill.web.choices import remember
from docmill.web.context import MOST_COUNTED, TheVault, Vault, parse_document_id, parse_id
from docmill.web.languages import gettext, gettext_noop, ngettext
from docmill.web.matching import documents_to_link, load_matches, notice_of, query_of
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.reviewing import base_of, drafts_of, is_in_queue, queue_view
from docmill.web.templating import THEME_COOKIE, THEMES
from docmill.web.uploads import receive, upload_status
from docmill.web.view import source_words
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
from docmill.web.view.filters import SEARCH_NAMES, SOURCE_NAMES, Filters, sort_choices
from docmill.web.view.words import type_choices

router = Router(include_in_schema=False)

LIST_NAMES = {
    "cards": gettext_noop("Cards"),
    "compact": gettext_noop("Compact"),
    "table": gettext_noop("Table"),
}
"""The densities of the list."""
LIST_COOKIE = "docmill-list"
PAGE_SIZES = {"cards": 24, "compact": 48, "table": 50}
_MOST_CARDS = 100
_NEWEST, _TAGS_OF_LIST = 1000, 100
"""The list offers so many tags, the most used ones of so many documents: the page is to load fast."""
_TAGS = 500
"""Names of tags that a document's page offers while a person types one."""
_MOST_DELETED = 200
_MOST_DIGITS = 6


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
@needs("read")
async def show_documents(
    request: Request, vault: TheVault, done: Annotated[Done, Depends(Done.of)]
) -> HTMLResponse:
    """One page of documents. Its address has the filters, see `Filters`. done: what a form has just done."""
    types = vault.service.type_choices.types
    async with vault.connection() as conn:
        rows = await doc_sources.every(conn, with_removed=True)
    chosen = request.query_params.get("source")
    own_sources = {str(row.id): row.name for row in rows if row.removed_at is None or str(row.id) == chosen}
    filters = Filters.of(request.query_params, types=types, sources=own_sources)
    list_name = request.cookies.get(LIST_COOKIE, "")
    if list_name not in LIST_NAMES:
        list_name = "cards"
    near = await vault.service.meaning.near(filters.query, filters.by)
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the cards, so that no change falls between
        listed = await document_list.page(
            conn,
            filters.criteria,
            sort=filters.sort or None,
            after=filters.after,
            limit=PAGE_SIZES[list_name],
            near=near,
            mode="meaning" if filters.by == "meaning" else "both",
        )
        total = 0 if filters.are_set else await documents.number(conn)
        cards = await _cards(conn, listed.rows, listed.corrected or filters.query, listed.by_meaning)
        tag_colors = await tags.colors(conn)
        tag_names = await tags.in_use(conn, documents=_NEWEST, limit=_TAGS_OF_LIST)
        views = await saved_views.of_user(conn, user_id=vault.user_id)
        paused = await pauses.current(conn)
        review_count = await review_queue.count(conn, most=MOST_COUNTED)
    return vault.templates.page(
        request,
        "documents.html",
        review_count=review_count,
        types=type_choices(types),
        filters=filters,
        sorts=sort_choices(filters),
        searches=SEARCH_NAMES if vault.service.meaning.embedder else {},
        sources=SOURCE_NAMES,
        own_sources=own_sources,
        list_name=list_name,
        list_names=LIST_NAMES,
        cards=cards,
        corrected=listed.corrected,
        tag_colors=tag_colors,
        tag_names=sorted(tag_names, key=str.lower),
        views=views,
        total=total,
        follow=filters.link(after=listed.follow) if listed.follow else None,
        done=done,
        last_event=last_event,
        pauses=paused,
        limit_bytes=vault.settings.limits.file_bytes,
    )


@router.get("/cards")
@needs("read")
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
        tag_colors = await tags.colors(conn)
    return vault.templates.page(request, "cards.html", cards=cards, tag_colors=tag_colors)


@router.get("/pauses")
@needs("read")
async def show_pauses(request: Request, vault: TheVault) -> HTMLResponse:
    """The current pauses, for a page that replaces what it shows of them."""
    async with vault.connection() as conn:
        return vault.templates.page(request, "_pauses.html", pauses=await pauses.current(conn))


@router.post("/upload")
@needs("write", form="streamed")
async def upload(request: Request, vault: TheVault) -> HTMLResponse:
    """Take in the files of the form, and list the outcome of each."""
    results = await receive(request, vault)
    return vault.templates.page(request, "uploaded.html", status_code=upload_status(results), results=results)


@router.post("/docs/{document_id}/retry")
@needs("write")
async def retry(
    document_id: str, vault: TheVault, *, to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Have the document processed again, and go back to where the button was."""
    ingestion_id = await vault.reprocess(parse_document_id(document_id))
    address, _, query = local_address(to).partition("?")
    if address != "/":  # the page of the document says what became of it
        kept = [(name, value) for name, value in parse_qsl(query) if name != "retried"]
        address += "?" + urlencode([*kept, ("retried", str(ingestion_id))])
    elif query:
        address += f"?{query}"
    return RedirectResponse(address, 303)


@router.post("/theme")
@needs("public", form="unchecked")
async def set_theme(
    *, theme: Annotated[str, Form()], to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Remember the theme, and go back."""
    return remember(THEME_COOKIE, theme, THEMES, to)


@router.post("/list")
@needs("public", form="unchecked")
async def set_list(
    *, list_name: Annotated[str, Form(alias="list")], to: Annotated[str, Form(alias="next")] = "/"
) -> RedirectResponse:
    """Remember how dense the list of documents is shown, and go back."""
    return remember(LIST_COOKIE, list_name, LIST_NAMES, to)


@router.get("/docs/{document_id}")
@needs("read")
async def show_document(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A page of the document with its boxes, and the values of all of it."""
    return await document_page(
        request, parse_document_id(document_id), vault, page=page, tab=tab, field=field
    )


@router.post("/docs/{document_id}/unlock")
@needs("write")
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
        message = gettext("Please say first whether this document is a duplicate of another one.")
        return OpenQuestion(message, page=page, can_force=False)
    paths = {field.path: field for field in view.values.all_fields}
    for path, draft in (await drafts_of(vault, document_id)).items():
        if path in paths and draft.typed.strip() != paths[path].value.strip():
            field = paths[path]
            message = gettext(
                "What you typed into “%(name)s” is not saved yet. Save it or drop it first.", name=field.name
            )
            return OpenQuestion(message, path, str(field.page or page), can_force=False)
    if reason.strip() or not view.open_count:
        return None
    words = ngettext(
        "%(num)s value or check is still open.", "%(num)s values or checks are still open.", view.open_count
    )
    what_to_do = gettext("Look at each and press Enter, or say why you approve without a look.")
    first = view.open_fields[0] if view.open_fields else None
    return OpenQuestion(
        f"{words} {what_to_do}",
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
    reviewed = await vault.reviewed(row.id)
    return document_view(
        row,
        history,
        transcription,
        choice,
        reviewed,
        reviewers=await vault.names({entry.reviewed_by for entry in reviewed.history} if reviewed else ()),
        may_review="review" in vault.access.allows,
        levels=vault.settings.review,
    )


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
        assigned, tag_names = await tags.of_document(conn, document_id), await tags.names(conn, limit=_TAGS)
        written = await notes.of_document(conn, document_id)
    row, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    choice = select_page(page, tab, field, page_count=page_count_of(row, transcription))
    in_queue = is_in_queue(request)
    find = query_of(request) if choice.tab == "matches" else ""
    return vault.templates.page(
        request,
        "document.html",
        view=await load_view(vault, row, history, choice, transcription),
        base=base_of(request, document_id),
        queue=await queue_view(request, vault, document_id) if in_queue else None,
        matches=await load_matches(vault, document_id) if in_queue or choice.tab == "matches" else None,
        match_notice=await notice_of(request, vault),
        find=find,
        to_link=await documents_to_link(vault, document_id, find) if find else [],
        drafts=await drafts_of(vault, document_id),
        retried=next((each for each in history if str(each.id) == request.query_params.get("retried")), None),
        question=refused if isinstance(refused, OpenQuestion) else None,
        review_count=review_count,
        links=await vault.links(document_id),
        arrivals=await vault.arrivals(document_id, history),
        source_words=source_words,
        edits=(await vault.current_reviews(document_id)).keys() & EDITED,
        title=title(row),
        money=money(row.structured_data, row.document_type),
        is_viewable=is_viewable(row),
        picture_version=picture_version(row),
        tabs=TABS,
        types=type_choices(vault.service.type_choices.types),
        tags=assigned,
        tag_names=tag_names,
        notes=written,
        last_event=last_event,
        pauses=paused,
        asks_password=wrong_password is not None or await vault.asks_password(row),
        wrong_password=wrong_password,
        refused_review=refused if isinstance(refused, RefusedReview) else None,
        refused_row=refused if isinstance(refused, RefusedRow) else None,
        status_code=422 if wrong_password else refused.status if refused else 200,
    )


async def _cards(
    conn: Conn, rows: Sequence[DocumentRow], query: str, by_meaning: Collection[UUID] = ()
) -> list[Card]:
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
            card(
                row,
                failures,
                picture=picture,
                whole=wholes.get(row.id),
                now=now,
                found=found.get(row.id),
                is_similar=row.id in by_meaning,
            )
        )
    return cards
