from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pkgutil import iter_modules
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from docmill.errors import MisconfiguredError, ServerError
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import document_list
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Database, new_id
from docmill.service.store.migrate import migrate
from docmill.service.store.migrations import versions
from docmill.service.store.upgrade import upgrade

NEWEST = max(module.name[1:5] for module in iter_modules(versions.__path__))


@pytest.fixture
def owner(postgres: EmbeddedPostgres) -> Iterator[str]:
    """An ordinary user, as a hosted database gives one, with an empty database of the same name."""
    name = f"owner_{uuid4().hex}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(sql.Identifier(name)))
        admin.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name)))
        yield name
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        admin.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name)))


def url_of(postgres: EmbeddedPostgres, user: str) -> str:
    return postgres.url(user).replace("postgres@", f"{user}@", 1)


def grant_roles(postgres: EmbeddedPostgres, owner: str) -> None:
    """Make a user a member of our roles, which are there already: other databases of the server have them."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(
            sql.SQL("GRANT docmill_app, docmill_dispatch, docmill_accounts, docmill_search TO {}").format(
                sql.Identifier(owner)
            )
        )


async def test_an_ordinary_owner_can_migrate_and_work(postgres: EmbeddedPostgres, owner: str) -> None:
    grant_roles(postgres, owner)

    migrate(url_of(postgres, owner))

    async with Database(url_of(postgres, owner)) as database, database.tenant(DEFAULT_TENANT_ID) as conn:
        assert (await document_list.page(conn)).rows == []


def test_who_may_not_make_the_schema_is_told(postgres: EmbeddedPostgres, owner: str) -> None:
    with psycopg.connect(postgres.url(owner), autocommit=True) as admin:
        admin.execute("ALTER SCHEMA public OWNER TO postgres")

    with pytest.raises(MisconfiguredError, match="schema"):
        migrate(url_of(postgres, owner))


def test_many_may_migrate_at_once(postgres: EmbeddedPostgres, owner: str) -> None:
    url = postgres.url(owner)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(migrate, [url] * 3))

    with psycopg.connect(url) as conn:
        assert conn.execute("SELECT version_num FROM alembic_version").fetchall() == [(NEWEST,)]


def test_a_database_that_is_not_there_is_tried_again() -> None:
    with pytest.raises(ServerError):
        migrate("postgresql://postgres@/docmill?host=/nowhere")


def test_a_database_of_a_later_release_is_left_alone(postgres: EmbeddedPostgres, owner: str) -> None:
    url = postgres.url(owner)
    migrate(url)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(MisconfiguredError, match="install the newer docmill"):
        migrate(url)


def test_dead_letters_of_before_are_kept_where_their_ingestion_still_counts(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0005")
    failed, outdated, newer, living = (new_id() for _ in range(4))
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:  # a superuser sees every tenant
        for number, ingestion_ids in enumerate([[failed], [outdated, newer], [living]]):
            document_id = new_id()
            conn.execute(
                """
                INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
                VALUES (%s, %s, repeat(%s, 64), 1, 'a', 'a')
                """,
                [document_id, DEFAULT_TENANT_ID, str(number)],
            )
            for ingestion_id in ingestion_ids:
                is_over = ingestion_id != living
                conn.execute(
                    """
                    INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, completed_at,
                                           error_code, error_message, failed_step, attempt_count)
                    VALUES (%s, %s, %s, %s, %s, %s, 'corrupt', 'broken', 'transcribe', 1)
                    """,
                    [
                        ingestion_id,
                        DEFAULT_TENANT_ID,
                        document_id,
                        new_id(),
                        "failed" if is_over else "in-progress",
                        datetime.now(UTC) if is_over else None,
                    ],
                )
        for body in (failed, outdated, living, "not a uuid"):
            conn.execute(
                """
                INSERT INTO dead_message (id, queue, body, receive_count, sent_at)
                VALUES (%s, 'ingestion', %s, 1, now())
                """,
                [new_id(), str(body)],
            )

    migrate(url_of(postgres, owner))

    with psycopg.connect(postgres.url(owner)) as conn:
        letters = conn.execute("SELECT body, error_code, error_message, step FROM dead_letter").fetchall()
        left = conn.execute("SELECT body FROM dead_message").fetchall()
    assert letters == [(failed, "corrupt", "broken", "transcribe")]
    assert sorted(left) == sorted([(str(living),), ("not a uuid",)])


def test_ingestions_of_before_are_numbered_as_they_were_asked_for(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0015")
    document_id, ids = new_id(), [new_id() for _ in range(4)]
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:
        conn.execute(
            """
            INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
            VALUES (%s, %s, repeat('0', 64), 1, 'a', 'a')
            """,
            [document_id, DEFAULT_TENANT_ID],
        )
        statement = """
            INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, completed_at, created_at)
            VALUES (%s, %s, %s, %s, 'failed', now(), now() - make_interval(hours => %s))
            """
        for hours, ingestion_id in enumerate(ids[:3]):
            conn.execute(statement, [ingestion_id, DEFAULT_TENANT_ID, document_id, DEFAULT_USER_ID, hours])

        migrate(url_of(postgres, owner))

        # As an older release does it, which knows of no number.
        conn.execute(statement, [ids[3], DEFAULT_TENANT_ID, document_id, DEFAULT_USER_ID, 0])
        rows = conn.execute("SELECT id, ordinal FROM ingestion ORDER BY ordinal").fetchall()
    assert rows == [(ids[2], 1), (ids[1], 2), (ids[0], 3), (ids[3], 4)]


def test_results_of_before_that_were_not_judged_with_reviews_will_be(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0018")
    left, judged, plain = ids = [new_id() for _ in range(3)]
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:
        for number, document_id in enumerate(ids):
            conn.execute(
                """
                INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path,
                                      structured_data, verdict)
                VALUES (%s, %s, repeat(%s, 64), 1, 'a', 'a', '{"number": "4"}', %s)
                """,
                [document_id, DEFAULT_TENANT_ID, str(number), "{}" if document_id == judged else None],
            )
        for document_id in (left, judged):
            conn.execute(
                """
                INSERT INTO review (id, tenant_id, document_id, ingestion_id, path, action, value, before,
                                    machine, reviewed_by)
                VALUES (%s, %s, %s, %s, 'number', 'correct', '"7"', '"4"', '"4"', %s)
                """,
                [new_id(), DEFAULT_TENANT_ID, document_id, new_id(), new_id()],
            )

        upgrade(url_of(postgres, owner), "0019")

        rows = conn.execute("SELECT id, needs_human_review FROM document WHERE review_due").fetchall()
        assert conn.execute("SELECT id FROM documents_to_judge(%s, 10)", [UUID(int=0)]).fetchall() == [
            (left,)
        ]
        forced = conn.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity")
        assert forced.fetchall() == []
    assert rows == [(left, True)]
    assert plain not in dict(rows)


def test_documents_corrected_before_are_judged_with_what_follows(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0031")
    reviews = {new_id(): ("number", "correct"), new_id(): ("number", "confirm"), new_id(): ("", "confirm")}
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:
        for number, (document_id, (path, action)) in enumerate(reviews.items()):
            conn.execute(
                """
                INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path,
                                      structured_data, verdict)
                VALUES (%s, %s, repeat(%s, 64), 1, 'a', 'a', '{"number": "4"}', '{}')
                """,
                [document_id, DEFAULT_TENANT_ID, str(number)],
            )
            conn.execute(
                """
                INSERT INTO review (id, tenant_id, document_id, ingestion_id, path, action, value, before,
                                    machine, reviewed_by)
                VALUES (%s, %s, %s, %s, %s, %s, '"7"', '"4"', '"4"', %s)
                """,
                [new_id(), DEFAULT_TENANT_ID, document_id, new_id(), path, action, new_id()],
            )

        migrate(url_of(postgres, owner))

        due = conn.execute("SELECT id FROM documents_to_judge(%s, 10)", [UUID(int=0)]).fetchall()
        forced = conn.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity")
        assert forced.fetchall() == []
    assert due == [(next(iter(reviews)),)]


def test_dead_letters_of_before_and_of_an_earlier_release_name_their_document(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0061")
    document_id, before, after = new_id(), new_id(), new_id()
    letter = """
        INSERT INTO dead_letter (id, tenant_id, body, error_code, error_message, attempts)
        VALUES (%s, %s, %s, 'corrupt', 'broken', 1)
        """
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:
        conn.execute(
            """
            INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
            VALUES (%s, %s, repeat('0', 64), 1, 'a', 'a')
            """,
            [document_id, DEFAULT_TENANT_ID],
        )
        for ingestion_id in (before, after):
            conn.execute(
                """
                INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, completed_at)
                VALUES (%s, %s, %s, %s, 'failed', now())
                """,
                [ingestion_id, DEFAULT_TENANT_ID, document_id, DEFAULT_USER_ID],
            )
        conn.execute(letter, [new_id(), DEFAULT_TENANT_ID, before])

        migrate(url_of(postgres, owner))

        conn.execute(letter, [new_id(), DEFAULT_TENANT_ID, after])
        rows = conn.execute("SELECT body, document_id FROM dead_letter ORDER BY id").fetchall()
        conn.execute("DELETE FROM document")
        assert conn.execute("SELECT FROM dead_letter").fetchall() == []
        forced = conn.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity")
        assert forced.fetchall() == []
    assert rows == [(before, document_id), (after, document_id)]


def test_unsent_messages_of_before_have_no_tenant_and_later_ones_that_of_their_transaction(
    postgres: EmbeddedPostgres, owner: str
) -> None:
    grant_roles(postgres, owner)
    upgrade(url_of(postgres, owner), "0083")
    before, after, of_none = (new_id() for _ in range(3))
    # As the release before it does it, which knows of no tenant here.
    statement = "INSERT INTO outbox (id, queue, body, due_at) VALUES (%s, 'ingestion', 'a', now())"
    in_tenant = "SELECT set_config('docmill.tenant_id', %s, true)"
    with psycopg.connect(postgres.url(owner), autocommit=True) as conn:
        with conn.transaction():
            conn.execute(in_tenant, [str(DEFAULT_TENANT_ID)])
            conn.execute(statement, [before])

        migrate(url_of(postgres, owner))

        with conn.transaction():
            conn.execute(in_tenant, [str(DEFAULT_TENANT_ID)])
            conn.execute(statement, [after])
        conn.execute(statement, [of_none])
        rows = dict(conn.execute("SELECT id, tenant_id FROM outbox").fetchall())
    assert rows == {before: None, after: DEFAULT_TENANT_ID, of_none: None}
