"""What a tenant's reviewed documents teach, at hand for every document that a worker reads.

Lessons are made from documents, kept in the database, and looked up by the numbers and the words of the
document that is read. Nothing crosses tenants: each has a shelf of its own, filled by its own rows.
"""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

from docmill.errors import CorruptError, DocmillError
from docmill.model.document import Document
from docmill.model.paths import value_at
from docmill.model.result import Schema
from docmill.schemas.user_schemas import portable
from docmill.service.review.correction_index import Lesson, Shelf
from docmill.service.storage.blobs import Blobs
from docmill.service.store import reviewed_documents as store
from docmill.service.store import reviews
from docmill.service.store.database import Database
from docmill.service.store.reviewed_documents import NewLesson
from docmill.service.store.reviews import ReviewedRow
from docmill.understanding.corrections.from_reviews import anchored_paths
from docmill.understanding.corrections.precedents import FORMAT, Precedent, dumps

log = logging.getLogger(__name__)

MOST_LESSONS = 1000
"""The documents of one tenant and type that are learned from: the latest reviewed."""
_AT_ONCE = 20
"""Lessons that one document may wait for; those that follow make the others."""
_MAKING_S = 10.0
"""After so long no lesson is begun: what a document has by then is not to be lost to its time limit."""
_HELD = 20_000
"""Lessons in memory, of all tenants together: about 3 kB each."""
_ANCHORS_BYTES = 32_000_000


class LessonMaker(Protocol):
    """Makes lessons of documents; it takes the CPU."""

    async def lesson(self, transcription: bytes, schema: Schema, said: Mapping[str, Any]) -> dict[str, Any]:
        """What a document teaches. said: name, values and places by path. May raise any DocmillError."""
        ...

    async def anchors(self, schema: Schema, shown: Sequence[tuple[bytes, Mapping[str, Any]]]) -> str:
        """Where documents of one layout have values. shown: transcriptions and lessons, latest first."""
        ...


class Lessons:
    """The lessons of all tenants whose documents this process reads. maker: see `LessonMaker`."""

    def __init__(
        self, database: Database, blobs: Blobs, maker: LessonMaker, *, most: int = MOST_LESSONS
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._maker = maker
        self._most = most
        self._shelves: OrderedDict[tuple[UUID, str, str], Shelf] = OrderedDict()
        self._anchors: OrderedDict[tuple[UUID, tuple[int, ...]], str] = OrderedDict()

    def of(self, tenant_id: UUID, document_id: UUID) -> "TenantsLessons":
        """What is known for one document of one tenant."""
        return TenantsLessons(self, tenant_id, document_id)

    async def taught(
        self, document: Document, schema: Schema, *, tenant_id: UUID, document_id: UUID
    ) -> Schema:
        """See `Teacher.taught`."""
        made_by = _made_by(schema)
        shelf = self._shelf((tenant_id, schema.name, made_by))
        async with shelf.lock:
            async with self._database.tenant(tenant_id) as conn:
                version = await store.version(conn, schema.name, made_by=made_by)
            if shelf.version != version:
                await self._fill(shelf, schema, tenant_id, made_by)
        if not len(shelf):
            return schema
        chosen = await asyncio.to_thread(shelf.chosen, document, document_id)
        if not chosen.lessons:
            return schema
        anchors = await self._anchors_of(chosen.of_layout, schema, tenant_id)
        return replace(schema, learned=dumps([one.read() for one in chosen.lessons], anchors))

    def _shelf(self, key: tuple[UUID, str, str]) -> Shelf:
        shelf = self._shelves.setdefault(key, Shelf())
        self._shelves.move_to_end(key)
        while len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > _HELD:
            self._shelves.popitem(last=False)
        return shelf

    async def _fill(self, shelf: Shelf, schema: Schema, tenant_id: UUID, made_by: str) -> None:
        """Bring the shelf to what people have said by now; lessons that are missing are made."""
        async with self._database.tenant(tenant_id) as conn:
            pupils = await store.pupils(conn, schema.name, made_by=made_by, limit=self._most)
        due = [one.document_id for one in pupils if one.lesson is None]
        if due:
            await self._make(due[:_AT_ONCE], schema, tenant_id, made_by)
        async with self._database.tenant(tenant_id) as conn:
            await store.keep_only(conn, schema.name, [one.document_id for one in pupils], made_by=made_by)
            version = await store.version(conn, schema.name, made_by=made_by)
            pupils = await store.pupils(conn, schema.name, made_by=made_by, limit=self._most)
            numbers = {one.lesson: one.reviewed for one in pupils if one.lesson is not None}
            rows = await store.read(conn, shelf.missing(numbers))
        shelf.take(numbers, [Lesson.of(row.document_id, row.number, row.content) for row in rows])
        shelf.version = version if all(one.lesson is not None for one in pupils) else None

    async def _make(
        self, document_ids: Sequence[UUID], schema: Schema, tenant_id: UUID, made_by: str
    ) -> None:
        async with self._database.tenant(tenant_id) as conn:
            rows = await reviews.reviewed(conn, schema.name, limit=len(document_ids), only=document_ids)
        started = time.monotonic()
        for row in rows:
            content = await self._lesson(row, schema)
            made = NewLesson(row.document_id, row.ingestion_id, row.number, content)
            async with self._database.tenant(tenant_id) as conn:
                await store.keep(conn, [made], tenant_id=tenant_id, schema_name=schema.name, made_by=made_by)
            if time.monotonic() - started > _MAKING_S:
                break

    async def _lesson(self, row: ReviewedRow, schema: Schema) -> dict[str, Any] | None:
        """What the document teaches; None if nothing can be learned from it."""
        try:
            transcription = await self._blobs.get(row.transcription_file_path)
        except CorruptError:
            return None
        try:
            return await self._maker.lesson(transcription, schema, _said(row))
        except DocmillError as error:
            log.warning("nothing is learned from a document", extra={"code": error.code})
            return None

    async def _anchors_of(self, alike: Sequence[Lesson], schema: Schema, tenant_id: UUID) -> str:
        """Where values stand in the layout of these documents, as text; empty where that is read anyway."""
        if not anchored_paths(schema, [Precedent.of_content(one.read()) for one in alike]):
            return ""
        key = (tenant_id, tuple(one.number for one in alike))
        known = self._anchors.get(key)
        if known is None:
            known = await self._fitted(alike, schema, tenant_id)
            if known is None:
                return ""
            self._anchors[key] = known
        self._anchors.move_to_end(key)
        while sum(map(len, self._anchors.values())) > _ANCHORS_BYTES:
            self._anchors.popitem(last=False)
        return known

    async def _fitted(self, alike: Sequence[Lesson], schema: Schema, tenant_id: UUID) -> str | None:
        """The places; None if that failed, which the next document tries again."""
        ids = [one.document_id for one in alike]
        async with self._database.tenant(tenant_id) as conn:
            rows = await reviews.reviewed(conn, schema.name, limit=len(ids), only=ids)
        paths = {row.document_id: row.transcription_file_path for row in rows}
        try:
            shown = [
                (await self._blobs.get(paths[one.document_id]), one.read())
                for one in alike
                if one.document_id in paths
            ]
            return await self._maker.anchors(schema, shown) if shown else ""
        except DocmillError as error:
            log.warning("no places are learned from documents", extra={"code": error.code})
            return None


@dataclass(frozen=True, slots=True)
class TenantsLessons:
    """`Teacher` of one document."""

    lessons: Lessons
    tenant_id: UUID
    document_id: UUID

    async def taught(self, document: Document, schema: Schema) -> Schema:
        """See `Teacher.taught`."""
        if not document.pages:
            return schema
        return await self.lessons.taught(
            document, schema, tenant_id=self.tenant_id, document_id=self.document_id
        )


def _said(row: ReviewedRow) -> dict[str, Any]:
    """What people said of a document: names of lists are left out, for rows differ from paper to paper."""
    paths = [path for path in row.paths if "[" not in path]
    places = {
        path: [one["page"], one["box"]]
        for path in paths
        if (one := row.evidence.get(path)) and one.get("box")
    }
    return {
        "name": row.file_name,
        "values": {path: value_at(row.data, path) for path in paths},
        "places": places,
    }


def _made_by(schema: Schema) -> str:
    """Another one whenever the same document would teach otherwise."""
    return _digest(portable(replace(schema, learned="")))


@lru_cache(maxsize=256)
def _digest(text: str) -> str:
    return hashlib.sha256(f"{FORMAT} {text}".encode()).hexdigest()[:16]
