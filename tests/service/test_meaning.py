"""Search by meaning: embeddings in the background, and what is found by them, with pgvector and without."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from pydantic import SecretStr

from docmill.errors import NetworkError, ServerError
from docmill.service.app import Service
from docmill.service.config.settings import Embedding
from docmill.service.meaning import LocalEmbedder, Meaning, SearchMode, open_embedder
from docmill.service.store import document_list, documents, embeddings, tags
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.document_list import DocumentFilters
from docmill.understanding.meaning.word_vectors import DIMENSIONS, Vectors
from support.llm_server import KEY, Reply, Server, serving
from support.scripted_steps import Observer, RunWorker, Upload


@pytest.fixture(params=["with pgvector", "without"])
def any_database(request: pytest.FixtureRequest, database_url: str) -> str:
    """A database that finds near vectors by an index, or one without the extension."""
    if request.param == "without":
        with psycopg.connect(database_url) as conn:
            conn.execute("ALTER TABLE document_embedding DROP COLUMN embedding")
            conn.execute("DROP EXTENSION vector")
    return database_url


async def file(service: Service, name: str, text: str, *tag_names: str) -> UUID:
    """A document with its text, tagged by a person."""
    tenant_id = service.default_tenant_id
    async with service.database.tenant(tenant_id) as conn:
        document_id, *_ = await documents.upsert(
            conn,
            tenant_id=tenant_id,
            content_hash=f"{hash(name) & (2**63 - 1):064x}",
            byte_size=1,
            file_name=name,
            file_path=name,
        )
        await conn.execute("UPDATE document SET text = %s WHERE id = %s", [text, document_id])
        if tag_names:
            add = await tags.named_or_new(conn, list(tag_names), tenant_id=tenant_id)
            await tags.assign(conn, [document_id], add=add, remove=[], assigned_by=DEFAULT_USER_ID)
    return document_id


async def found(
    service: Service, query: str, mode: SearchMode = "both", filters: DocumentFilters | None = None
) -> list[str]:
    """The names of the documents that are found, in order."""
    near = await service.meaning.near(query, mode)
    wanted = DocumentFilters(query=query, tags=filters.tags if filters else ())
    async with service.database.tenant(service.default_tenant_id) as conn:
        listed = await document_list.page(
            conn, wanted, near=near, mode="meaning" if mode == "meaning" else "both"
        )
    return [row.file_name for row in listed.rows]


@pytest.mark.usefixtures("any_database")
async def test_a_document_is_found_by_what_it_means(service: Service) -> None:
    await file(service, "bakery.pdf", "Two loaves of bread and rolls, fresh from the oven")
    await file(service, "car.pdf", "Engine oil and brakes changed, vehicle inspected")
    await service.meaning.work()

    assert (await found(service, "Bäckerei"))[:1] == ["bakery.pdf"]
    assert (await found(service, "auto repair", "meaning"))[:1] == ["car.pdf"]
    assert await found(service, "Bäckerei", "text") == []


@pytest.mark.usefixtures("any_database")
async def test_what_is_tagged_policy_is_found_by_insurance(service: Service) -> None:
    await file(service, "a.pdf", "Number 4711", "policy")
    await file(service, "b.pdf", "Number 4712", "urgent")
    await service.meaning.work()

    assert await found(service, "insurance") == ["a.pdf"]
    assert await found(service, "Versicherung") == ["a.pdf"]
    assert await found(service, "insurance", filters=DocumentFilters(tags=("urgent",))) == []


async def test_a_renamed_tag_is_found_by_its_new_name(service: Service) -> None:
    await file(service, "a.pdf", "4711", "policy")
    await service.meaning.work()
    async with service.database.tenant(service.default_tenant_id) as conn:
        (tag_id,) = await tags.named(conn, ["policy"])
        await tags.rename(conn, tag_id, "lease")
    await service.meaning.work()

    assert await found(service, "insurance") == []
    assert await found(service, "rent") == ["a.pdf"]


async def test_what_has_the_words_comes_before_what_means_the_like(service: Service) -> None:
    for number in range(5):
        await file(service, f"like-{number}.pdf", f"bread rolls bakery baker {number}")
    await file(service, "words.pdf", "boulangerie")
    await service.meaning.work()

    names = await found(service, "boulangerie")

    assert names[0] == "words.pdf"
    assert len(names) == 6


@pytest.mark.parametrize("query", ['"bread rolls"', "bread 12", "bread -rolls", "<", "🧾", "", "x" * 10_000])
async def test_an_exact_query_is_searched_for_by_its_words_alone(service: Service, query: str) -> None:
    await file(service, "bakery.pdf", "loaf of bread")
    await service.meaning.work()

    assert await service.meaning.near(query, "both") is None or query.startswith("x")
    await found(service, query)
    await found(service, query, "meaning")


async def test_pages_follow_each_other_without_gaps(service: Service) -> None:
    for number in range(7):
        await file(service, f"{number}.pdf", f"bread bakery {number}")
    await service.meaning.work()
    near = await service.meaning.near("baker", "meaning")
    names: list[str] = []
    after = None
    while True:
        async with service.database.tenant(service.default_tenant_id) as conn:
            listed = await document_list.page(
                conn, DocumentFilters(query="baker"), near=near, mode="meaning", after=after, limit=3
            )
        names += [row.file_name for row in listed.rows]
        if listed.follow is None:
            break
        after = document_list.Cursor.parse(listed.follow.text)

    assert sorted(names) == [f"{number}.pdf" for number in range(7)]


@pytest.mark.usefixtures("any_database")
async def test_nothing_of_another_tenant_is_near(service: Service, stranger: UUID) -> None:
    await file(service, "bakery.pdf", "bread and rolls", "policy")
    await service.meaning.work()
    near = await service.meaning.near("bakery insurance", "meaning")

    async with service.database.tenant(stranger) as conn:
        listed = await document_list.page(conn, near=near, mode="meaning")
        cur = await conn.execute("SELECT count(*) FROM document_embedding, tag_embedding")
        assert await cur.fetchone() == (0,)
    assert listed.rows == []


async def test_the_worker_embeds_what_it_has_read_and_leaves_the_document_alone(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload()
        done = await observer.until(accepted, "ready")
        async with asyncio.timeout(20):
            while not await _embedded(service, accepted.document_id):  # noqa: ASYNC110  no event tells
                await asyncio.sleep(0.05)
        after = await observer.document(accepted)

    assert (after.version, after.updated_at) == (done.version, done.updated_at)


async def test_the_same_job_twice_is_one_and_a_repetition_changes_nothing(service: Service) -> None:
    document_id = await file(service, "a.pdf", "bread")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'bread and rolls' WHERE id = %s", [document_id])
        cur = await conn.execute("SELECT key FROM embedding_job")
        keys = await cur.fetchall()
    await service.meaning.work()
    first = await _embedded(service, document_id)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'bread' WHERE id = %s", [document_id])
        await conn.execute("UPDATE document SET text = 'bread and rolls' WHERE id = %s", [document_id])
    await service.meaning.work()

    assert keys == [(f"embed-tags_{service.default_tenant_id}_{document_id}",)]
    assert await _embedded(service, document_id) == first


class Angles:
    """An embedder of texts that begin with their cosine to a query that is 1."""

    name = "angles"
    least, least_of_tag = 0.15, 0.3

    async def embed(self, texts: Sequence[str]) -> Vectors:
        cosines = np.array([float(text.split()[0]) for text in texts], np.float32)
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        rows[:, 0], rows[:, 1] = cosines, np.sqrt(1 - cosines**2)
        return rows


@pytest.mark.usefixtures("any_database")
@pytest.mark.parametrize(
    ("cosines", "expected"),
    [
        (("0.23", "0.40", "0.25", "0.14"), ["0.40", "0.25"]),
        (("0.28", "0.90", "0.31"), ["0.90", "0.31"]),
        (("0.16", "0.20", "0.14"), ["0.20", "0.16"]),
    ],
)
async def test_what_is_far_from_the_nearest_is_not_found(
    service: Service, cosines: Sequence[str], expected: Sequence[str]
) -> None:
    for cosine in cosines:
        await file(service, cosine, f"{cosine} is its cosine")
    meaning = Meaning(service.database, Angles())
    await meaning.work()
    near = await meaning.near("1", "meaning")

    async with service.database.tenant(service.default_tenant_id) as conn:
        listed = await document_list.page(conn, near=near, mode="meaning")

    assert [row.file_name for row in listed.rows] == expected


class Broken:
    """An embedder whose server is away."""

    name = "broken"
    least = least_of_tag = 0.0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        del texts
        raise NetworkError("nobody answers")


async def test_a_failure_is_made_good_after_an_hour_and_what_is_missing_is_asked_for(
    service: Service,
) -> None:
    document_id = await file(service, "a.pdf", "bread", "policy")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'Bread' WHERE id = %s", [document_id])
    broken = Meaning(service.database, Broken())

    assert await broken.work() > 0
    assert await broken.near("bread", "both") is None
    assert await broken.work() == 0, "it is not tried again by itself"
    assert not await _embedded(service, document_id)
    await service.meaning.ask_for_missing()
    assert await service.meaning.work() == 0, "what has failed is asked for already"
    await _let_an_hour_pass(service)
    assert await service.meaning.work() == 2, "the document and its tag"
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document_embedding")
    await service.meaning.ask_for_missing()
    await service.meaning.ask_for_missing()
    assert await service.meaning.work() == 1
    assert await _embedded(service, document_id)
    await service.meaning.ask_for_missing()
    assert await service.meaning.work() == 0


class Other(LocalEmbedder):
    """Another model."""

    name = "other"


async def test_another_model_embeds_anew_and_vectors_are_not_mixed(service: Service) -> None:
    document_id = await file(service, "a.pdf", "bread")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'Bread' WHERE id = %s", [document_id])
    await service.meaning.work()
    other = Meaning(service.database, Other())
    near = await other.near("bakery", "meaning")

    async def names() -> list[str]:
        async with service.database.tenant(service.default_tenant_id) as conn:
            return [row.file_name for row in (await document_list.page(conn, near=near, mode="meaning")).rows]

    assert await names() == []
    await other.ask_for_missing()
    await other.work()
    assert await names() == ["a.pdf"]


async def test_without_an_embedder_words_are_searched_for(service: Service) -> None:
    meaning = Meaning(service.database, open_embedder(Embedding(provider="none")))

    assert await meaning.near("bakery", "meaning") is None
    await meaning.work_for_ever()
    await meaning.ask_for_missing()


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    async with serving() as server:
        yield server


async def test_a_provider_embeds_if_it_is_configured(service: Service, server: Server) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        vectors = [
            {"object": "embedding", "index": index, "embedding": [2.0, *[0.0] * (DIMENSIONS - 1)]}
            for index in range(len(body["input"]))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return Reply({"object": "list", "data": vectors, "model": body["model"], "usage": usage})

    server.answer = answer
    settings = Embedding(
        provider="openai", model="tiny", base_url=f"http://127.0.0.1:{server.port}/v1", api_key=SecretStr(KEY)
    )
    embedder = open_embedder(settings)
    assert embedder is not None
    rows = await embedder.embed(["bread", " "])

    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0])
    assert rows[0, 0] == 1
    document_id = await file(service, "a.pdf", "bread")
    await Meaning(service.database, embedder).work()
    assert await _embedded(service, document_id)


async def _embedded(service: Service, document_id: UUID) -> bytes | None:
    """The vector of a document."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute(
            "SELECT vector FROM document_embedding WHERE document_id = %s", [document_id]
        )
        row = await cur.fetchone()
    return row[0] if row else None


async def test_the_index_of_vectors_is_there(service: Service) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await embeddings.has_index(conn)


class Failing(Angles):
    """An embedder that fails at first."""

    fails = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails:
            raise ServerError("down")
        return await super().embed(texts)


async def test_a_change_whose_embedding_failed_is_embedded_later(service: Service) -> None:
    document_id = await file(service, "a.pdf", "0.5 is its cosine")
    embedder = Failing()
    meaning = Meaning(service.database, embedder)
    embedder.fails = False
    await meaning.work()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = '0.9 is its cosine' WHERE id = %s", [document_id])
    before = await _embedded(service, document_id)

    embedder.fails = True
    await meaning.work()
    embedder.fails = False
    at_once = await meaning.work()
    await _let_an_hour_pass(service)
    later = await meaning.work()

    assert (at_once, later) == (0, 1)
    assert await _embedded(service, document_id) != before


async def _let_an_hour_pass(service: Service) -> None:
    async with service.database.connection() as conn:
        await conn.execute("UPDATE embedding_job SET taken_at = taken_at - interval '1 hour'")
