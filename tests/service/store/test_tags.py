"""Tags in the database: what the machine assigns, what people said, and what earlier releases left."""

from collections.abc import Iterator, Sequence
from itertools import count
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from docmill.service.app import Service
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import documents, tags
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Conn, new_id, storable
from docmill.service.store.migrate import migrate
from docmill.service.store.upgrade import upgrade
from docmill.understanding.types.tags import is_same_tag, one_line

_numbers = count()


async def file(conn: Conn, tenant_id: UUID, *names: str) -> UUID:
    """A document whose classification has these tags."""
    document_id, *_ = await documents.upsert(
        conn,
        tenant_id=tenant_id,
        content_hash=f"{next(_numbers):064x}",
        byte_size=1,
        file_name="a.pdf",
        file_path="a",
    )
    await read_again(conn, tenant_id, document_id, *names)
    return document_id


async def read_again(conn: Conn, tenant_id: UUID, document_id: UUID, *names: str) -> None:
    """A later classification of the document."""
    await conn.execute(
        """
        INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, classification, completed_at)
        VALUES (%(id)s, %(tenant_id)s, %(document_id)s, %(user_id)s, 'completed', %(classification)s, now())
        """,
        {
            "id": new_id(),
            "user_id": DEFAULT_USER_ID,
            "tenant_id": tenant_id,
            "document_id": document_id,
            "classification": Jsonb({"title": "x", "tags": list(names)}),
        },
    )


async def names_of(conn: Conn, document_id: UUID) -> list[str]:
    row = await documents.get(conn, document_id)
    assert row is not None
    return row.tags


async def say(
    conn: Conn, tenant_id: UUID, document_id: UUID, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> int:
    """A person's change."""
    return await tags.assign(
        conn,
        [document_id],
        add=await tags.named_or_new(conn, add, tenant_id=tenant_id) if add else [],
        remove=await tags.named(conn, remove),
        assigned_by=DEFAULT_USER_ID,
    )


async def test_the_machines_tags_go_with_its_classification(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent", "2026")
        first = await names_of(conn, document_id)
        await read_again(conn, own, document_id, "2026", "office")

        assert (first, await names_of(conn, document_id)) == (["rent", "2026"], ["2026", "office"])


async def test_what_a_person_added_or_took_off_is_never_changed_by_a_machine(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent", "2026")
        await say(conn, own, document_id, add=["urgent", "2026"], remove=["rent"])
        await read_again(conn, own, document_id, "Rents", "office")

        assert await names_of(conn, document_id) == ["2026", "office", "urgent"]
        origins = {tag.name: tag.origin for tag in await tags.of_document(conn, document_id)}
        assert origins == {"2026": "person", "office": "machine", "urgent": "person"}


async def test_saying_it_again_changes_nothing(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent")

        changes = [await say(conn, own, document_id, add=["a"], remove=["rent", "nothing"]) for _ in range(2)]

        assert changes == [1, 0]


async def test_a_renamed_tag_is_meant_by_its_old_name(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        first = await file(conn, own, "paper")
        (tag_id,) = await tags.named(conn, ["paper"])
        await tags.rename(conn, tag_id, "Stationery")
        second = await file(conn, own, "Paper")

        assert [await names_of(conn, one) for one in (first, second)] == [["Stationery"], ["Stationery"]]


async def test_a_merged_tag_leaves_its_documents_and_its_name_to_the_other(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        machine = await file(conn, own, "paper", "pen")
        person = await file(conn, own, "pen")
        refused = await file(conn, own, "paper", "pen")
        await say(conn, own, person, add=["paper"])
        await say(conn, own, refused, remove=["paper"])
        paper, pen = [(await tags.named(conn, [name]))[0] for name in ("paper", "pen")]
        await tags.merge(conn, paper, pen)
        later = await file(conn, own, "paper")

        shown = {one: await tags.of_document(conn, one) for one in (machine, person, refused, later)}
        assert {one: [(tag.name, tag.origin) for tag in found] for one, found in shown.items()} == {
            machine: [("pen", "machine")],
            person: [("pen", "person")],
            refused: [("pen", "machine")],
            later: [("pen", "machine")],
        }
        assert [tag.name for tag in await tags.every(conn)] == ["pen"]


async def test_a_removed_tag_is_seen_nowhere_until_it_is_restored(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent", "2026")
        (tag_id,) = await tags.named(conn, ["rent"])
        await tags.set_removed(conn, tag_id, is_removed=True)
        removed = await names_of(conn, document_id), await tags.in_use(conn, documents=9, limit=9)
        await tags.set_removed(conn, tag_id, is_removed=False)

        assert removed == (["2026"], ["2026"])
        assert await names_of(conn, document_id) == ["rent", "2026"]


async def test_a_removed_tag_that_is_added_by_hand_begins_anew(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        before, after = await file(conn, own, "rent"), await file(conn, own)
        await tags.set_removed(conn, (await tags.named(conn, ["rent"]))[0], is_removed=True)
        await say(conn, own, after, add=["rent"])

        assert [await names_of(conn, one) for one in (before, after)] == [[], ["rent"]]


async def test_tags_of_another_tenant_are_not_touched(service: Service, stranger: UUID) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent")
        (tag_id,) = await tags.named(conn, ["rent"])
    async with service.database.tenant(stranger) as conn:
        assert await tags.every(conn) == []
        assert await tags.named(conn, ["rent"]) == []
        assert await tags.get(conn, tag_id) is None
        assert await say(conn, stranger, document_id, add=["mine"]) == 0
        await tags.rename(conn, tag_id, "theirs")
        await tags.set_removed(conn, tag_id, is_removed=True)

    async with service.database.tenant(own) as conn:
        assert [(tag.name, tag.documents) for tag in await tags.every(conn)] == [("rent", 1)]


async def test_each_change_of_a_person_is_one_event_and_a_new_version(service: Service) -> None:
    own = service.default_tenant_id
    async with service.database.tenant(own) as conn:
        document_id = await file(conn, own, "rent")
        before = await documents.get(conn, document_id)
        await say(conn, own, document_id, add=["a", "b"])
        added = await documents.get(conn, document_id)
        await say(conn, own, document_id, add=["a"])
        again = await documents.get(conn, document_id)

        assert before is not None
        assert added is not None
        assert again is not None
        assert before.version < added.version == again.version


@given(st.text(max_size=60), st.text(max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
def test_names_have_one_key_where_they_are_the_same_tag(
    keys: psycopg.Connection, one: str, other: str
) -> None:
    plain = [one_line(storable(name), 60) or "x" for name in (one, other)]  # as names are stored
    variants = [plain[0], plain[1], f" {plain[0].upper()} ", f"{plain[0]}s", plain[0].replace(" ", "-")]
    rows = keys.execute("SELECT tag_key(name) FROM unnest(%s::text[]) AS name", [variants]).fetchall()

    for name, (key,) in zip(variants, rows, strict=True):
        if name.isascii() and plain[0].isascii():
            assert (key == rows[0][0]) == is_same_tag(name, plain[0]), (name, plain[0])


@pytest.fixture
def keys(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url) as conn:
        yield conn


def test_tags_of_earlier_releases_are_kept(postgres: EmbeddedPostgres) -> None:
    name = f"earlier_{uuid4().hex}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = postgres.url(name)
    upgrade(url, "0032")
    with psycopg.connect(url, autocommit=True) as conn:
        for number, (said, reviewed) in enumerate(
            [
                (["rent", "2026"], None),
                (["Rents"], ["office"]),
                (["x"], None),
                (None, None),
                ("no list", None),
            ]
        ):
            document_id, ingestion_id = new_id(), new_id()
            conn.execute(
                """
                INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
                VALUES (%s, %s, %s, 1, %s, 'a')
                """,
                [document_id, DEFAULT_TENANT_ID, f"{number:064x}", f"{number}.pdf"],
            )
            conn.execute(
                """
                INSERT INTO ingestion
                       (id, tenant_id, document_id, uploaded_by, status, classification, completed_at)
                VALUES (%s, %s, %s, %s, 'completed', %s, now())
                """,
                [
                    ingestion_id,
                    DEFAULT_TENANT_ID,
                    document_id,
                    DEFAULT_USER_ID,
                    Jsonb({"title": "x", "tags": said}),
                ],
            )
            if reviewed:
                conn.execute("UPDATE document SET tags = %s WHERE id = %s", [Jsonb(reviewed), document_id])

    migrate(url)

    with psycopg.connect(url, autocommit=True) as conn:
        rows = conn.execute(
            """
            SELECT file_name, array_agg(name ORDER BY position)
              FROM document
              JOIN tag_assignment ON document_id = document.id
              JOIN tag ON tag.id = tag_id
             WHERE words @@ quote_literal(tag_word(tag_id))::tsquery
             GROUP BY file_name ORDER BY file_name
            """
        ).fetchall()
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    assert rows == [("0.pdf", ["rent", "2026"]), ("1.pdf", ["office"]), ("2.pdf", ["x"])]
