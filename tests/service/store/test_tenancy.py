"""Row-level security, asked of the catalogue and tried by one tenant on another's rows."""

from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from docmill.service.app import Service
from docmill.service.store import document_list, documents, events, ingestions
from docmill.service.store.ingestions import Origin
from support.scripted_steps import Upload

WITHOUT_TENANT = {
    *(
        "alembic_version",
        "message",
        "dead_message",
        "outbox",
        "chore",
        "vault",
        "pause",
        "outage",
        "outage_sighting",
    ),
    *("embedding_job", "matching_job", "match_learning_job"),
    *(
        "users",
        "sessions",
        "sign_in_attempts",
        "familiar_origin",
        "one_time_links",
        "identities",
    ),  # seen by transactions of accounts
}


async def test_every_table_is_of_a_tenant_or_known_to_be_of_none(service: Service) -> None:
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT relname::text,
                   relrowsecurity AND relforcerowsecurity
                   AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid AND polcmd = '*'),
                   relname = 'tenant' OR EXISTS (
                       SELECT FROM pg_attribute
                        WHERE attrelid = pg_class.oid AND attname = 'tenant_id' AND attnotnull
                   )
              FROM pg_class
             WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
            """
        )
        tables = await cur.fetchall()

    assert {"tenant", "document", "ingestion", "event", "dead_letter"} <= {name for name, _, _ in tables}
    for name, is_guarded, has_tenant in tables:
        assert name in WITHOUT_TENANT or (is_guarded and has_tenant), name


async def test_every_view_binds_its_reader(service: Service) -> None:
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT relname::text, coalesce('security_invoker=true' = ANY(reloptions), false)
              FROM pg_class
             WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace
            """
        )
        views = await cur.fetchall()

    assert views
    assert all(binds for _, binds in views), views


async def test_the_application_cannot_bypass_row_level_security(service: Service) -> None:
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT current_user::text, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user
            """
        )
        assert await cur.fetchone() == ("docmill_app", False, False)


async def test_functions_with_anothers_rights_have_few_owners_and_are_not_for_all(service: Service) -> None:
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT DISTINCT proowner::regrole::text, has_function_privilege('public', oid, 'EXECUTE')
              FROM pg_proc
             WHERE prosecdef AND pronamespace = 'public'::regnamespace
             ORDER BY 1
            """
        )
        assert await cur.fetchall() == [("docmill_dispatch", False), ("docmill_search", False)]


async def test_the_index_on_words_is_used_for_the_owner_of_the_search(service: Service) -> None:
    # A condition in a policy for this role would make every search read all documents.
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT polname::text, pg_get_expr(polqual, polrelid)
              FROM pg_policy
             WHERE polrelid = 'document'::regclass AND 'docmill_search'::regrole = ANY(polroles)
            """
        )
        assert await cur.fetchall() == [("search", "true")]


@pytest.mark.parametrize(
    "wanted",
    [
        "'zebra'",
        "'zeb':*",
        "!'absent'",
        "'zebra' | !'zebra'",
        "{word}",
        "{word} | 'zebra'",
        "'zebra' & !{word}",
    ],
)
async def test_the_index_on_words_tells_nothing_of_another_tenant(
    service: Service, upload: Upload, stranger: UUID, wanted: str
) -> None:
    """Whatever is asked: a word, what has none, or the word that stands for the other tenant."""
    accepted = await upload()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'zebra' WHERE id = %s", [accepted.document_id])
        cur = await conn.execute("SELECT tenant_word(current_tenant())")
        (word,) = await cur.fetchone() or ("",)
        cur = await conn.execute("SELECT * FROM found_ids('zebra', NULL)")
        assert await cur.fetchall() == [(accepted.document_id,)]

    async with service.database.tenant(stranger) as conn:
        for most in (None, 0, 1, 1_000_000):
            cur = await conn.execute(
                "SELECT * FROM found_ids(%s::tsquery, %s::integer)", [wanted.format(word=word), most]
            )
            assert await cur.fetchall() == []
    async with service.database.transaction() as conn:
        cur = await conn.execute("SELECT * FROM found_ids(%s::tsquery, NULL)", [wanted.format(word=word)])
        assert await cur.fetchall() == []


async def test_who_searches_cannot_put_functions_of_their_own_before_those_of_the_search(
    service: Service, upload: Upload, stranger: UUID
) -> None:
    accepted = await upload()

    async with service.database.tenant(stranger) as conn:
        await conn.execute(
            """
            CREATE FUNCTION pg_temp.current_tenant() RETURNS uuid LANGUAGE sql
                RETURN '00000000-0000-7000-8000-000000000001'::uuid
            """
        )
        await conn.execute("CREATE TEMPORARY TABLE document (id uuid, tenant_id uuid, words tsvector)")
        await conn.execute(
            "INSERT INTO pg_temp.document VALUES (%s, %s, 'a')", [accepted.document_id, stranger]
        )
        await conn.execute("SET LOCAL search_path = pg_temp, public, pg_catalog")
        cur = await conn.execute("SELECT * FROM public.found_ids('!absent', NULL)")
        assert await cur.fetchall() == []
        await conn.execute("DROP TABLE pg_temp.document")
        await conn.execute("DROP FUNCTION pg_temp.current_tenant()")


async def test_a_stranger_sees_nothing(service: Service, upload: Upload, stranger: UUID) -> None:
    accepted = await upload()

    async with service.database.tenant(stranger) as conn:
        assert await documents.get(conn, accepted.document_id) is None
        assert (await document_list.page(conn)).rows == []
        assert set((await documents.counts(conn)).values()) == {0}
        assert await ingestions.of_document(conn, accepted.document_id) == []
        assert await events.last_id(conn) == 0
    assert await service.intake.reprocess(accepted.document_id, tenant_id=stranger) is None


@pytest.mark.parametrize(
    "table",
    [
        "tenant",
        "document",
        "ingestion",
        "event",
        "document_state",
        "review",
        "current_review",
        "lesson",
        "document_signature",
        "signature_key",
        "near_duplicate",
        "memberships",
        "audit_log",
        "tag",
        "tag_spelling",
        "tag_assignment",
        "saved_view",
        "statement_columns",
        "document_note",
        "webhook",
        "webhook_event",
        "webhook_delivery",
        "webhook_attempt",
    ],
)
async def test_without_a_tenant_nothing_is_seen(service: Service, upload: Upload, table: str) -> None:
    await upload()

    async with service.database.connection() as conn:
        cur = await conn.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
        assert await cur.fetchall() == []


@pytest.mark.parametrize("table", ["document", "ingestion"])
async def test_a_stranger_changes_and_deletes_nothing(
    service: Service, upload: Upload, stranger: UUID, table: str
) -> None:
    await upload()
    name = sql.Identifier(table)

    async with service.database.tenant(stranger) as conn:
        updated = await conn.execute(sql.SQL("UPDATE {} SET created_at = now()").format(name))
        deleted = await conn.execute(sql.SQL("DELETE FROM {}").format(name))

    assert (updated.rowcount, deleted.rowcount) == (0, 0)


async def test_nobody_writes_rows_for_another(service: Service, stranger: UUID) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as refusal:  # noqa: PT012  a transaction has two lines
        async with service.database.connection() as conn, conn.transaction():
            await conn.execute("SELECT set_config('docmill.tenant_id', %s, true)", [str(stranger)])
            await documents.upsert(
                conn,
                tenant_id=service.default_tenant_id,
                content_hash="0" * 64,
                byte_size=1,
                file_name="a",
                file_path="a",
            )
    assert refusal


async def test_a_transaction_leaves_no_tenant_behind(service: Service, upload: Upload) -> None:
    await upload()

    async with service.database.connection() as conn:
        async with conn.transaction():
            await conn.execute(
                "SELECT set_config('docmill.tenant_id', %s, true)", [str(service.default_tenant_id)]
            )
            inside = len((await document_list.page(conn)).rows)
        outside = len((await document_list.page(conn)).rows)

    assert (inside, outside) == (1, 0)


async def test_an_ingestion_cannot_belong_to_another_tenants_document(
    service: Service, upload: Upload, stranger: UUID
) -> None:
    accepted = await upload()

    with pytest.raises(psycopg.errors.IntegrityError):
        async with service.database.tenant(stranger) as conn:
            await ingestions.begin(
                conn, tenant_id=stranger, document_id=accepted.document_id, origin=Origin()
            )
