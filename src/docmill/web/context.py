"""The context of every route: the vault, its tenant, its documents."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request

from docmill.errors import CorruptError, EncryptedError, UnsupportedFileTypeError
from docmill.model.document import Document
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import (
    NoUnlocker,
    Unlock,
    already_readable,
    takes_password,
    unlocking,
)
from docmill.service.matches import Matches
from docmill.service.meaning import SearchMode
from docmill.service.observe.metrics import Metrics
from docmill.service.people.access import Access
from docmill.service.ports import Unlocker
from docmill.service.review.reviews import DocumentReviews
from docmill.service.storage.blobs import NewerTranscriptionError, load_transcription
from docmill.service.store import (
    arrivals,
    document_list,
    documents,
    ingestions,
    matching_states,
    near_duplicates,
    parts,
    review_queue,
    reviews,
    users,
)
from docmill.service.store import bin as bin_store
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import Conn
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.matching_states import MatchingState
from docmill.service.store.near_duplicates import NearDuplicate
from docmill.service.store.parts import Links
from docmill.service.store.reviews import CurrentReview
from docmill.web.languages import gettext
from docmill.web.page_images import PageImages
from docmill.web.templating import Templates

log = logging.getLogger(__name__)

MOST_COUNTED = 100
_CACHED_DOCUMENTS = 1000
"""Size of the cache of page rotations, in documents: a row of thumbnails asks for each page."""


@dataclass(frozen=True)
class Vault:
    """The service and what the routes need beside it, bound to who asks and to their tenant.

    closing: set when open streams must end. bound_to: None before a request came. audit_details: what the
    audit log is to tell of this request, besides its address.
    """

    service: Service
    settings: Settings
    images: PageImages
    templates: Templates
    metrics: Metrics
    closing: asyncio.Event
    unlocker: Unlocker = field(default_factory=NoUnlocker)
    bound_to: Access | None = None
    audit_details: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    _rotations: dict[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])

    @property
    def access(self) -> Access:
        """Who asks, and what they may do."""
        assert self.bound_to is not None, "a route is called with a vault that is bound"
        return self.bound_to

    @property
    def tenant_id(self) -> UUID:
        """The tenant whose documents are shown."""
        assert self.access.tenant_id is not None, "whoever needs a scope has a tenant"
        return self.access.tenant_id

    @property
    def user_id(self) -> UUID:
        """The user whose uploads and reviews these are; of an API key, who made it."""
        return self.access.user_id

    @property
    def matches(self) -> Matches:
        """The links between documents."""
        return Matches(self.service.database, self.service.feed)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Conn]:
        """Open a transaction of the tenant."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            yield conn

    async def document(self, document_id: UUID) -> DocumentRow:
        """Load the document. Answers 404 if the owner has none of that id, even if another tenant has."""
        async with self.connection() as conn:
            row = await documents.get(conn, document_id)
        if row is None:
            raise await self._not_found(document_id)
        return row

    async def _not_found(self, document_id: UUID) -> HTTPException:
        """The answer 404 for a document, which tells where it is if it is in the bin."""
        async with self.connection() as conn, bin_store.showing_bin(conn):
            is_deleted = await documents.get(conn, document_id) is not None
        if is_deleted:
            return HTTPException(404, gettext("This document is in the bin. Restore it there to see it."))
        return not_found()

    async def review_count(self) -> int:
        """Documents that wait for a person, for the header; at most `MOST_COUNTED`."""
        async with self.connection() as conn:
            return await review_queue.count(conn, most=MOST_COUNTED)

    async def found(self, filters: DocumentFilters, by: SearchMode) -> DocumentFilters:
        """Filters of all documents that a search finds: those found by meaning as ids."""
        near = await self.service.meaning.near(filters.query or "", by)
        if near is None:
            return filters
        async with self.connection() as conn:
            return await document_list.with_meaning(
                conn, filters, near, "meaning" if by == "meaning" else "both"
            )

    async def document_with_history(self, document_id: UUID) -> tuple[DocumentRow, list[IngestionRow]]:
        """Load the document and its ingestions, newest first. Answers 404 as `document` does."""
        async with self.connection() as conn:
            row = await documents.get(conn, document_id)
            history = await ingestions.of_document(conn, document_id)
        if row is None:
            raise await self._not_found(document_id)
        return row, history

    async def reviewed(self, document_id: UUID) -> DocumentReviews | None:
        """Return the document's result and its reviews; None if nothing has been read."""
        return await self.service.reviews.of(document_id, tenant_id=self.tenant_id)

    async def names(self, user_ids: Collection[UUID]) -> dict[UUID, str]:
        """Return the names of people who are or were in the tenant."""
        if not user_ids:
            return {}
        async with self.connection() as conn:
            return await users.names(conn, user_ids)

    async def links(self, document_id: UUID) -> Links:
        """Return the document's parts and the documents that hold it."""
        async with self.connection() as conn:
            return await parts.links(conn, document_id)

    async def matching_state(self, document_id: UUID) -> MatchingState | None:
        """How far the matching of the document is; None if it is not matched."""
        async with self.connection() as conn:
            return await matching_states.get(conn, document_id)

    async def transcription(self, history: Sequence[IngestionRow]) -> Document | None:
        """Load the first transcription of `_with_transcription` that can be read; None if there is none."""
        for ingestion in _with_transcription(history):
            assert ingestion.transcription_file_path  # they have one
            try:
                return await load_transcription(self.service.blobs, ingestion.transcription_file_path)
            except (CorruptError, NewerTranscriptionError) as error:
                log.warning(
                    "a transcription cannot be read",
                    extra={"ingestion_id": str(ingestion.id), "reason": type(error).__name__},
                )
        return None

    async def rotation(self, history: Sequence[IngestionRow], page_number: int) -> int | None:
        """Return the page's rotation as it was read; None before that."""
        path = next(
            (ingestion.transcription_file_path or "" for ingestion in _with_transcription(history)), ""
        )
        if path and path not in self._rotations:
            document = await self.transcription(history)
            if document is not None:
                if len(self._rotations) >= _CACHED_DOCUMENTS:
                    self._rotations.clear()
                self._rotations[path] = [page.rotation for page in document.pages]
        rotations = self._rotations.get(path, ())
        return rotations[page_number - 1] if page_number <= len(rotations) else None

    async def is_unreadable(self, document_id: UUID) -> bool:
        """Return whether this pipeline has found that it cannot read this type of file."""
        async with self.connection() as conn:
            newest = await ingestions.newest(conn, document_id)
        return (
            newest is not None
            and newest.error_code == UnsupportedFileTypeError.code
            and newest.has_result(await self.service.fingerprint.now())
        )

    async def ingestion(self, ingestion_id: UUID) -> IngestionRow:
        """Load an ingestion. Answers 404 if the owner has none of that id, or its document is deleted."""
        async with self.connection() as conn:
            row = await ingestions.get(conn, ingestion_id)
        if row is None:
            raise HTTPException(404, "There is no such ingestion here.")
        return row

    async def arrivals(self, document_id: UUID, history: Sequence[IngestionRow]) -> list[ArrivalRow]:
        """The arrivals of the document from sources, the newest first; of a part, those of what holds it."""
        async with self.connection() as conn:
            rows = await arrivals.of_document(conn, document_id)
        return rows or arrivals.of_ingestions(history)

    async def near_duplicates(self, document_id: UUID) -> list[NearDuplicate]:
        """Return the documents that seem to be the same."""
        async with self.connection() as conn:
            return await near_duplicates.of_document(conn, document_id)

    async def reprocess(self, document_id: UUID) -> UUID:
        """Have the document processed again; the id of its ingestion. Answers 404 as `document` does."""
        ingestion_id = await self.service.intake.reprocess(
            document_id, tenant_id=self.tenant_id, uploaded_by=self.user_id
        )
        if ingestion_id is None:
            raise not_found()
        return ingestion_id

    async def choose_type(
        self,
        document_id: UUID,
        document_type: str | None,
        *,
        seen: str | None = None,
        versions: Collection[int] | None = None,
    ) -> UUID:
        """Give the document a type, or take the choice back; the ingestion that reads it by that.

        Answers 404 as `document` does. Raises what `TypeChoices.choose` raises.
        """
        ingestion_id = await self.service.type_choices.choose(
            document_id,
            document_type,
            tenant_id=self.tenant_id,
            reviewed_by=self.user_id,
            seen=seen,
            versions=versions,
        )
        if ingestion_id is None:
            raise not_found()
        return ingestion_id

    async def edit(
        self, document_id: UUID, edits: Mapping[str, str | None], *, versions: Collection[int] | None = None
    ) -> None:
        """Give the document a title or the like. Answers 404 as `document` does; raises as `Edits.change`."""
        if not await self.service.edits.change(
            document_id, edits, tenant_id=self.tenant_id, edited_by=self.user_id, versions=versions
        ):
            raise not_found()

    async def current_reviews(self, document_id: UUID) -> dict[str, CurrentReview]:
        """Return the reviews that hold, by path; also of a document in which nothing was read."""
        async with self.connection() as conn:
            return await reviews.current(conn, document_id)

    async def decide_duplicate(self, document_id: UUID, other_id: UUID, *, is_duplicate: bool | None) -> None:
        """Keep whether two documents are the same. Answers 404 if they do not seem to be."""
        if not await self.service.reviews.decide_duplicate(
            document_id,
            other_id,
            is_duplicate=is_duplicate,
            tenant_id=self.tenant_id,
            decided_by=self.user_id,
        ):
            raise not_found()

    async def asks_password(self, row: DocumentRow) -> bool:
        """Return whether a document failed because a password is missing that can be given here."""
        is_locked = row.state == "failed" and row.error_code == EncryptedError.code
        return is_locked and await takes_password(self.service.blobs, row.file_path)

    def unlocking(self, password: str) -> Unlock:
        """Return the function that opens files with this password, which may be empty."""
        if not password:
            return already_readable
        return unlocking(self.service.blobs, self.unlocker, password)

    async def unlock(self, document_id: UUID, password: str) -> UUID:
        """Have a protected document read; the id of its ingestion. Answers 404 as `document` does.

        Raises EncryptedError for a wrong password.
        """
        ingestion_id = await self.service.intake.unlock(
            document_id, self.unlocking(password), tenant_id=self.tenant_id, uploaded_by=self.user_id
        )
        if ingestion_id is None:
            raise not_found()
        return ingestion_id


def preprocessed_path(history: Sequence[IngestionRow]) -> str | None:
    """Return the path of the preprocessed pages of the ingestion whose text is shown."""
    return next((ingestion.preprocessed_file_path for ingestion in _with_transcription(history)), None)


def _with_transcription(history: Sequence[IngestionRow]) -> list[IngestionRow]:
    """Return the ingestions with a transcription: first the completed ones, whose values are shown.

    history: newest first. One that failed or is under way counts only until another one has completed.
    """
    read = [ingestion for ingestion in history if ingestion.transcription_file_path]
    return sorted(read, key=lambda ingestion: ingestion.status != "completed")


def parse_id(text: str) -> UUID | None:
    """Return the id, or None if the text is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def parse_document_id(text: str) -> UUID:
    """Return the id in an address. Answers 404 if the text is none."""
    document_id = parse_id(text)
    if document_id is None:
        raise not_found()
    return document_id


def not_found(what: str = "document") -> HTTPException:
    """Build the answer 404: there is no such thing here."""
    return HTTPException(404, f"There is no such {what} here.")


def _vault(request: Request) -> Vault:
    vault: Vault = request.app.state.vault
    return replace(vault, bound_to=request.state.access, audit_details=request.state.audit_details)


TheVault = Annotated[Vault, Depends(_vault)]
"""The vault, for a route that names it as an argument."""
