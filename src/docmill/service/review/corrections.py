"""Corrections from a tenant's reviewed documents, at hand for every document that a worker reads.

They are made from documents, kept in the database, and looked up by the identifiers and the words of the
document that is read. Nothing crosses tenants: each has an index of its own, filled by its own rows.
"""

import asyncio
import hashlib
import json
import logging
import sys
import time
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from docmill.errors import CorruptError, DocmillError
from docmill.model.corrections import (
    CORRECTION_FORMAT,
    Correction,
    Corrections,
    LayoutWeights,
    ReviewedValues,
)
from docmill.model.document import Box, Document
from docmill.model.paths import value_at
from docmill.model.result import Schema
from docmill.schemas.user_schemas import portable
from docmill.service.ports import CorrectionMaker
from docmill.service.storage.blobs import Blobs
from docmill.service.store import reviewed_documents as store
from docmill.service.store import reviews
from docmill.service.store.database import Database
from docmill.service.store.reviewed_documents import NewCorrection, StoredCorrection, Version
from docmill.service.store.reviews import ReviewedRow
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.corrections.fit import learnable_paths
from docmill.understanding.fields.features import layout_words
from docmill.understanding.user_schemas.schema_model import SAME_LAYOUT

log = logging.getLogger(__name__)

OF_COUNTERPARTY = 12
OF_LAYOUT = 6
"""Corrections that a document is given, the latest of those that bear on it."""

MOST_DOCUMENTS = 1000
"""The documents of one tenant and type that are learned from: the latest reviewed."""

_AT_ONCE = 20
"""Corrections that one document may wait for; those that follow make the others."""

_MAKING_S = 10.0
"""After so long no correction is begun: what a document has by then is not to be lost to its time limit."""

_HELD = 20_000
"""Corrections in memory, of all tenants together: about 3 kB each."""

_LAYOUTS = 500
"""Layouts whose weights are in memory, of all tenants together: rarely more than 60 kB each."""


@dataclass(frozen=True, slots=True)
class IndexedCorrection:
    """A correction with its keys. content: as JSON, which takes less memory; words: hashed."""

    document_id: UUID
    number: int
    content: bytes
    identifiers: tuple[str, ...]
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, stored: StoredCorrection) -> "IndexedCorrection":
        """From a row of the database."""
        content = json.loads(stored.content)
        interned = tuple(sys.intern(identifier) for identifier in content["marks"])
        words = _hash(content["words"])
        return cls(stored.document_id, stored.number, stored.content.encode(), interned, words)

    def load(self) -> Correction:
        """The correction itself."""
        return Correction.of_content(json.loads(self.content))


class Matches(NamedTuple):
    """Corrections that bear on a document, the latest first. of_layout: those of its own layout."""

    every: Sequence[IndexedCorrection] = ()
    of_layout: Sequence[IndexedCorrection] = ()


class CorrectionIndex:
    """Corrections, the latest review first. It does not change, so that threads may read it."""

    def __init__(self, corrections: Sequence[IndexedCorrection] = ()) -> None:
        self._corrections = corrections
        self._by_identifier: dict[str, list[int]] = defaultdict(list)
        for index, correction in enumerate(corrections):
            for identifier in correction.identifiers:
                self._by_identifier[identifier].append(index)
        sizes = [len(correction.words) for correction in corrections]
        words = np.concatenate([np.zeros(0, np.uint32), *(correction.words for correction in corrections)])
        by_word = np.argsort(words, kind="stable")
        self._words = words[by_word]
        self._owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[by_word]
        self._sizes = np.array(sizes, np.float64)

    def __len__(self) -> int:
        return len(self._corrections)

    def missing(self, numbers: Collection[int]) -> list[int]:
        """The numbers of the documents whose corrections are not loaded."""
        here = {correction.number for correction in self._corrections}
        return [number for number in numbers if number not in here]

    def updated(self, reviews: Mapping[int, int], new: Iterable[IndexedCorrection]) -> "CorrectionIndex":
        """The index of these corrections and no others. reviews: the latest one, by their numbers."""
        by_number = {correction.number: correction for correction in (*self._corrections, *new)}
        order = sorted(by_number.keys() & reviews.keys(), key=lambda number: -reviews[number])
        return CorrectionIndex([by_number[number] for number in order])

    def find(self, document: Document, document_id: UUID) -> Matches:
        """The latest corrections of the same counterparty and of the same layout, but the document's own."""
        score: dict[int, float] = defaultdict(float)
        for identifier in sorted(identifiers(document)):
            owners = self._by_identifier.get(identifier, ())
            for index in owners:  # those that few share count most
                score[index] += 1 / len(owners)
        of_party = sorted(score, key=lambda index: (-round(score[index], 6), index))
        of_layout: list[int] = []
        words = _hash(layout_words(document))
        starts, stops = (np.searchsorted(self._words, words, side=side) for side in ("left", "right"))
        hits = [self._owners[start:stop] for start, stop in zip(starts, stops, strict=True) if stop > start]
        if hits:
            shared = np.bincount(np.concatenate(hits), minlength=len(self))
            likeness = shared / np.sqrt(np.maximum(1, self._sizes * len(words)))
            of_layout = np.flatnonzero(likeness >= SAME_LAYOUT).tolist()
        every = self._corrections
        of_layout, of_party = (
            [index for index in indices if every[index].document_id != document_id]
            for indices in (of_layout, of_party)
        )
        del of_layout[OF_LAYOUT:], of_party[OF_COUNTERPARTY:]
        return Matches(
            [every[index] for index in sorted({*of_layout, *of_party})], [every[index] for index in of_layout]
        )


def _hash(words: Iterable[str]) -> NDArray[np.uint32]:
    return np.unique(np.array([zlib.crc32(word.encode()) for word in words], np.uint32))


_Alike = Sequence[tuple[IndexedCorrection, Correction]]


@dataclass(slots=True)
class _CachedIndex:
    """One tenant's corrections of a schema. version: of the index; None while some are not made yet."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: Version | None = None
    index: CorrectionIndex = field(default_factory=CorrectionIndex)


class CorrectionFinder:
    """Finds corrections for the documents of all tenants that this process reads."""

    def __init__(
        self, database: Database, blobs: Blobs, maker: CorrectionMaker, *, most: int = MOST_DOCUMENTS
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._maker = maker
        self._most = most
        self._cache: OrderedDict[tuple[UUID, str, str], _CachedIndex] = OrderedDict()
        self._layouts: OrderedDict[tuple[UUID, tuple[int, ...]], LayoutWeights] = OrderedDict()

    def of(self, tenant_id: UUID, document_id: UUID) -> "DocumentCorrections":
        """The corrections for one document of one tenant."""
        return DocumentCorrections(self, tenant_id, document_id)

    async def find(
        self, document: Document, schema: Schema, *, tenant_id: UUID, document_id: UUID
    ) -> Corrections:
        """See `CorrectionSource.find`."""
        made_by = _digest_of(portable(schema))
        key = (tenant_id, schema.name, made_by)
        cached = self._cache.setdefault(key, _CachedIndex())
        self._cache.move_to_end(key)
        while len(self._cache) > 1 and sum(len(entry.index) for entry in self._cache.values()) > _HELD:
            self._cache.popitem(last=False)
        async with cached.lock:
            async with self._database.tenant(tenant_id) as conn:
                version = await store.version(conn, schema.name, made_by=made_by)
            if cached.version != version:
                await self._update(cached, schema, tenant_id, made_by)
        if not len(cached.index):
            return Corrections()
        matches = await asyncio.to_thread(cached.index.find, document, document_id)
        documents = {match.number: match.load() for match in matches.every}
        alike = [(match, documents[match.number]) for match in matches.of_layout]
        return Corrections(tuple(documents.values()), await self._layout(alike, schema, tenant_id))

    async def _update(self, cached: _CachedIndex, schema: Schema, tenant_id: UUID, made_by: str) -> None:
        """Bring the index up to the latest reviews; corrections that are missing are made."""
        async with self._database.tenant(tenant_id) as conn:
            reviewed = await store.reviewed_documents(conn, schema.name, made_by=made_by, limit=self._most)
        due = [document.document_id for document in reviewed if document.correction is None]
        rows: Sequence[ReviewedRow] = ()
        if due:
            async with self._database.tenant(tenant_id) as conn:
                due = due[:_AT_ONCE]
                rows = await reviews.reviewed(conn, schema.name, limit=len(due), only=due)
        started = time.monotonic()
        for row in rows:
            correction = await self._correction(row, schema)
            content = correction and correction.content()
            made = NewCorrection(row.document_id, row.ingestion_id, row.number, content)
            async with self._database.tenant(tenant_id) as conn:
                await store.keep(conn, [made], tenant_id=tenant_id, schema_name=schema.name, made_by=made_by)
            if time.monotonic() - started > _MAKING_S:
                break
        ids = [document.document_id for document in reviewed]
        async with self._database.tenant(tenant_id) as conn:
            await store.delete_others(conn, schema.name, ids, made_by=made_by)
            version = await store.version(conn, schema.name, made_by=made_by)
            reviewed = await store.reviewed_documents(conn, schema.name, made_by=made_by, limit=self._most)
            latest = {entry.correction: entry.reviewed for entry in reviewed if entry.correction is not None}
            stored = await store.read(conn, cached.index.missing(latest))
        cached.index = cached.index.updated(latest, map(IndexedCorrection.of, stored))
        is_complete = all(entry.correction is not None for entry in reviewed)
        cached.version = version if is_complete else None

    async def _correction(self, row: ReviewedRow, schema: Schema) -> Correction | None:
        """The correction of the document; None if nothing can be learned from it."""
        try:
            transcription = await self._blobs.get(row.transcription_file_path)
        except CorruptError:
            return None
        # Values of lists are left out, for rows differ from paper to paper.
        paths = [path for path in row.paths if "[" not in path]
        places = {
            path: (proof["page"], Box(*proof["box"]))
            for path in paths
            if (proof := row.evidence.get(path)) and proof.get("box")
        }
        values = ReviewedValues(row.file_name, {path: value_at(row.data, path) for path in paths}, places)
        try:
            return await self._maker.correction(transcription, schema, values)
        except DocmillError as error:
            log.warning("nothing is learned from a document", extra={"code": error.code})
            return None

    async def _layout(self, alike: _Alike, schema: Schema, tenant_id: UUID) -> LayoutWeights:
        """The places of values in the layout of these documents; empty where they are read right anyway.

        Also empty if learning them failed; the next document tries again.
        """
        if not learnable_paths(schema, [correction for _, correction in alike]):
            return LayoutWeights()
        key = (tenant_id, tuple(match.number for match, _ in alike))
        layout = self._layouts.get(key)
        if layout is None:
            ids = [match.document_id for match, _ in alike]
            async with self._database.tenant(tenant_id) as conn:
                rows = await reviews.reviewed(conn, schema.name, limit=len(ids), only=ids)
            paths = {row.document_id: row.transcription_file_path for row in rows}
            try:
                documents = [
                    (await self._blobs.get(paths[match.document_id]), correction)
                    for match, correction in alike
                    if match.document_id in paths
                ]
                layout = await self._maker.layout(schema, documents) if documents else LayoutWeights()
            except DocmillError as error:
                log.warning("no places are learned from documents", extra={"code": error.code})
                return LayoutWeights()
            self._layouts[key] = layout
        self._layouts.move_to_end(key)
        while len(self._layouts) > _LAYOUTS:
            self._layouts.popitem(last=False)
        return layout


@dataclass(frozen=True, slots=True)
class DocumentCorrections:
    """`CorrectionSource` of one document."""

    finder: CorrectionFinder
    tenant_id: UUID
    document_id: UUID

    async def find(self, document: Document, schema: Schema) -> Corrections:
        """See `CorrectionSource.find`."""
        if not document.pages:
            return Corrections()
        return await self.finder.find(
            document, schema, tenant_id=self.tenant_id, document_id=self.document_id
        )


@lru_cache(maxsize=256)
def _digest_of(schema: str) -> str:
    """A digest that differs whenever the same review would make another correction."""
    return hashlib.sha256(f"{CORRECTION_FORMAT} {schema}".encode()).hexdigest()[:16]
