"""Search by meaning: vectors of documents and tags, made in the background and compared with a query's."""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np

from docmill.errors import DocmillError, MisconfiguredError
from docmill.resilience.concurrency import keep_doing
from docmill.schemas.document_types import DEFINITIONS
from docmill.service.config.settings import Embedding
from docmill.service.ports import Embedder
from docmill.service.store import embeddings
from docmill.service.store.database import Database
from docmill.service.store.embeddings import DocumentToEmbed, Job, Near
from docmill.understanding.meaning.word_vectors import DIMENSIONS, NAME, Vectors, WordVectors

log = logging.getLogger(__name__)

SearchMode = Literal["text", "meaning", "both"]

EMBEDDING_S = 30.0
"""Limit of one batch of jobs: embedding is fire and forget, and never worth waiting for."""
_PAUSE_S = 1.0
_BATCH = 32
_REMOTE_TEXT = 8_000
_TINY = 1e-9
_MISSING = 1000
"""Embeddings asked for at a time, of those that are missing."""
_EXACT = re.compile(r"\d|\"|(?:^|\s)-\w")
"""A query with a number, a phrase or a word to leave out means just that."""


class LocalEmbedder:
    """Embeds on this machine, by `WordVectors`, which are loaded when they are needed first."""

    name = NAME
    least = 0.15
    least_of_tag = 0.3

    def __init__(self) -> None:
        self._vectors: WordVectors | None = None
        self._lock = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        async with self._lock:
            return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if self._vectors is None:
            self._vectors = WordVectors()
        return self._vectors.embed(texts)


class RemoteEmbedder:
    """Embeds by a provider's model. Its vectors are shortened to `DIMENSIONS`, which such models allow."""

    def __init__(self, settings: Embedding) -> None:
        from docmill.llm import embedding_model  # noqa: PLC0415  an extra that most do without

        assert settings.model is not None, "the settings have checked that"
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._embed = embedding_model(
            settings.model, base_url=settings.base_url, api_key=key, dimensions=DIMENSIONS
        )
        self.name = f"{settings.model}/{DIMENSIONS}"
        self.least = settings.least
        self.least_of_tag = settings.least_of_tag

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        worded = [index for index, text in enumerate(texts) if text.strip()]
        if not worded:
            return rows
        answer = await self._embed([texts[index][:_REMOTE_TEXT] for index in worded])
        for index, vector in zip(worded, answer, strict=True):
            shortened = np.asarray(vector, np.float32)[:DIMENSIONS]
            if len(shortened) < DIMENSIONS:
                raise MisconfiguredError(
                    f"the embedding model {self.name!r} gives {len(shortened)} numbers, and {DIMENSIONS} are"
                    " needed; name another in embedding.model"
                )
            rows[index] = shortened / max(float(np.linalg.norm(shortened)), _TINY)
        return rows


def open_embedder(settings: Embedding) -> Embedder | None:
    """The embedder of the settings. Raises MisconfiguredError where a provider's library is missing."""
    match settings.provider:
        case "words":
            return LocalEmbedder()
        case "openai":
            try:
                return RemoteEmbedder(settings)
            except ModuleNotFoundError as error:
                raise MisconfiguredError(
                    f"embedding.provider needs {error.name!r}; run: pip install 'docmill[llm]'"
                ) from error
        case "none":
            return None


@dataclass(frozen=True)
class Meaning:
    """Makes the vectors that are asked for, and those of queries. embedder: None if nothing is embedded."""

    database: Database
    embedder: Embedder | None

    async def near(self, query: str, mode: SearchMode) -> Near | None:
        """The vector of a query, to search by; None where the query is searched for by its words alone.

        So it is with `both` for a query that is exact, and for one without a known word.
        """
        if self.embedder is None or mode == "text" or not query or (mode == "both" and _EXACT.search(query)):
            return None
        try:
            (vector,) = await asyncio.wait_for(self.embedder.embed([query]), EMBEDDING_S)
        except (DocmillError, TimeoutError) as error:
            if isinstance(error, MisconfiguredError):
                raise
            log.warning("a query was not embedded", extra={"reason": type(error).__name__})
            return None
        if not vector.any():
            return None
        return Near(vector, self.embedder.name, self.embedder.least, self.embedder.least_of_tag)

    async def work_for_ever(self) -> None:
        """Make embeddings as they are asked for, until cancelled."""
        if self.embedder is not None:
            await keep_doing(self.work, what="making embeddings", pause_s=_PAUSE_S)

    async def work(self) -> int:
        """Make the embeddings that are asked for now; how many jobs were done.

        A job that fails or takes too long is logged, and taken again after an hour.
        """
        assert self.embedder is not None
        done = 0
        while True:
            async with self.database.connection() as conn:
                jobs = await embeddings.take_jobs(conn, limit=_BATCH)
            if not jobs:
                return done
            for tenant_id in {job.tenant_id for job in jobs}:
                of_tenant = [job for job in jobs if job.tenant_id == tenant_id]
                try:
                    async with asyncio.timeout(EMBEDDING_S):
                        await self._embed(self.embedder, of_tenant, tenant_id)
                    async with self.database.connection() as conn:
                        await embeddings.end_jobs(conn, of_tenant)
                except (DocmillError, TimeoutError) as error:
                    reason = error.message if isinstance(error, DocmillError) else type(error).__name__
                    log.warning("embeddings were not made", extra={"jobs": len(of_tenant), "reason": reason})
            done += len(jobs)

    async def ask_for_missing(self) -> None:
        """Ask for embeddings that are missing, or were made by another model."""
        if self.embedder is not None:
            async with self.database.connection() as conn:
                asked = await embeddings.ask_for_missing(conn, self.embedder.name, limit=_MISSING)
            if asked:
                log.info("embeddings were asked for again", extra={"jobs": asked})

    async def _embed(self, embedder: Embedder, jobs: Sequence[Job], tenant_id: UUID) -> None:
        document_ids = [job.document_id for job in jobs if job.document_id is not None]
        tag_ids = [job.tag_id for job in jobs if job.tag_id is not None]
        async with self.database.tenant(tenant_id) as conn:
            documents = await embeddings.documents_to_embed(conn, document_ids)
            tags = await embeddings.tags_to_embed(conn, tag_ids, document_ids, model=embedder.name)
        texts = [*map(text_of, documents), *(tag.name for tag in tags)]
        if not texts:
            return
        vectors = list(await embedder.embed(texts))
        of_documents = zip([row.id for row in documents], vectors, strict=False)
        of_tags = zip([tag.id for tag in tags], vectors[len(documents) :], strict=True)
        async with self.database.tenant(tenant_id) as conn:
            await embeddings.put_documents(conn, list(of_documents), tenant_id=tenant_id, model=embedder.name)
            await embeddings.put_tags(conn, list(of_tags), tenant_id=tenant_id, model=embedder.name)


def text_of(document: DocumentToEmbed) -> str:
    """The text that stands for a document: what it is first, then what is written in it."""
    definition = DEFINITIONS.get(document.document_type or "")
    kind = definition.label if definition else document.document_type
    return "\n".join(filter(None, (kind, document.title, document.summary, document.text)))
