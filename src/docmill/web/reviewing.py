"""The surroundings of a document under review: its place in the queue, drafts, and the lock of a reviewer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from starlette.requests import Request

from docmill.errors import ChangedError
from docmill.service.store import documents, review_drafts, review_locks, review_queue
from docmill.service.store.review_drafts import Draft
from docmill.service.store.review_locks import ReviewLock
from docmill.service.store.review_queue import Order, Position
from docmill.web.context import Vault
from docmill.web.languages import gettext_noop
from docmill.web.page_images import is_viewable, picture_version

ORDER_COOKIE = "docmill-review-order"
ORDERS: dict[Order, str] = {
    "oldest": gettext_noop("Oldest first"),
    "due": gettext_noop("Due soonest first"),
}

Done = Literal["approved", "rejected"]


@dataclass(frozen=True, slots=True)
class Notice:
    """What was done to the document before this one, to be undone from here."""

    done: Done
    document_id: UUID
    title: str


@dataclass(frozen=True, slots=True)
class QueueView:
    """The queue around a document.

    lock: of another person who reviews it now; without one, seen_at is the sign of life that this visit is.
    next_picture: address of page 1 of the next document, without a width; None where none can be drawn.
    """

    position: Position
    lock: ReviewLock | None
    seen_at: datetime | None
    next_picture: str | None
    notice: Notice | None

    @property
    def next_link(self) -> str:
        """The address of the next document; of the queue where there is none."""
        return f"/review/{self.position.following}" if self.position.following else "/review"


def is_in_queue(request: Request) -> bool:
    """True for the pages and forms of the review queue, which the page of a document shares."""
    return request.url.path.startswith("/review/")


def base_of(request: Request, document_id: UUID) -> str:
    """The address of the page that a form of this document stands on."""
    return f"/review/{document_id}" if is_in_queue(request) else f"/docs/{document_id}"


def order_of(request: Request) -> Order:
    """The order of the queue that this visitor chose last."""
    chosen = request.cookies.get(ORDER_COOKIE, "")
    return "due" if chosen == "due" else "oldest"


async def queue_view(request: Request, vault: Vault, document_id: UUID) -> QueueView:
    """Look up the queue around a document, and take its lock unless another person has it.

    Who may not review takes none: it would keep those who do from the document.
    """
    async with vault.connection() as conn:
        position = await review_queue.position(
            conn, document_id, user_id=vault.user_id, order=order_of(request)
        )
        lock = None
        if "review" in vault.access.allows:
            lock = await review_locks.take(
                conn, document_id, tenant_id=vault.tenant_id, user_id=vault.user_id
            )
        following = await documents.get(conn, position.following) if position.following else None
    is_mine = lock is not None and lock.user_id == vault.user_id
    picture = None
    if following is not None and is_viewable(following):
        picture = f"/api/v1/documents/{following.id}/pages/1.webp?v={picture_version(following)}"
    return QueueView(
        position=position,
        lock=None if is_mine else lock,
        seen_at=lock.seen_at if lock is not None and is_mine else None,
        next_picture=picture,
        notice=await notice_of(request, vault),
    )


async def notice_of(request: Request, vault: Vault) -> Notice | None:
    """What the address says was done to another document; None if it names none of this tenant."""
    for done in ("approved", "rejected"):
        try:
            document_id = UUID(request.query_params.get(done, ""))
        except ValueError:
            continue
        async with vault.connection() as conn:
            row = await documents.get(conn, document_id)
        if row is not None:
            return Notice(done, row.id, row.title or row.file_name)
    return None


async def drafts_of(vault: Vault, document_id: UUID) -> dict[str, Draft]:
    """What the visitor has typed in this document and not saved, by path."""
    async with vault.connection() as conn:
        return await review_drafts.of_document(conn, document_id, user_id=vault.user_id)


async def keep_draft(vault: Vault, document_id: UUID, *, path: str, typed: str, seen: str) -> None:
    """Keep what the visitor has typed; nothing if it is the value itself."""
    async with vault.connection() as conn:
        if typed.strip() == seen.strip():
            await review_drafts.drop(conn, document_id, user_id=vault.user_id, path=path)
        else:
            await review_drafts.keep(
                conn,
                document_id,
                tenant_id=vault.tenant_id,
                user_id=vault.user_id,
                path=path,
                typed=typed,
                seen=seen,
            )


async def drop_draft(vault: Vault, document_id: UUID, *, path: str | None = None) -> None:
    """Drop what the visitor has typed into a field; into all of them without a path."""
    async with vault.connection() as conn:
        await review_drafts.drop(conn, document_id, user_id=vault.user_id, path=path)


async def check_lock(request: Request, vault: Vault, document_id: UUID) -> None:
    """Renew the visitor's lock before a form of the queue is stored. Raises ChangedError without it.

    Answers 404 as `Vault.document` does.
    """
    if not is_in_queue(request):
        return
    await vault.document(document_id)
    async with vault.connection() as conn:
        lock = await review_locks.take(conn, document_id, tenant_id=vault.tenant_id, user_id=vault.user_id)
    if lock.user_id != vault.user_id:
        raise ChangedError("Another person reviews this document now. Take it over to go on.")
