"""Measure the server time of the list of documents: newest, filtered, ordered and searched, and of pages.

It is a viewer who asks.

Rows are generated in the database: documents of one tenant, and ten times as many of others, each with some
words, values, tags and a finished ingestion.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
from pydantic import SecretStr

from bench.arguments import argument_parser
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.database import DEFAULT_TENANT_ID, new_id
from docmill.service.store.migrate import migrate
from docmill.testing.steps import PaintedPages
from docmill.understanding.meaning.word_vectors import NAME
from docmill.web.access import SESSION_COOKIE
from docmill.web.app import create_app

OTHER_TENANTS = 10
BATCH = 10_000

QUERIES: Mapping[str, Sequence[str]] = {
    "list": ("", "sort=newest&limit=50"),
    "filtered": (
        "tag=tag7",
        "tag=tag7&tag=tag9",
        "document_type=receipt",
        "state=failed",
        "state=needs_review",
        "counterparty=party 77",
        "date_from=2025-01-01&date_to=2025-01-31",
        "amount_from=100&amount_to=101",
        "sort=date",
        "sort=amount",
        "sort=counterparty",
        "document_type=invoice&tag=tag3&sort=amount",
    ),
    "by meaning and words": (
        "q=word3&by=both",
        "q=word700&by=both",
        "q=bakery&by=both",
        "q=bakery&by=meaning",
        "q=insurance policy&by=both&tag=tag7",
        "q=car repair&by=both&document_type=receipt",
        "q=car repair&by=both&sort=date",
    ),
    "text search": (
        "q=word3",
        "q=word700",
        "q=word1900",
        "q=word3 word700",
        "q=1.234,50",
        "q=word1 tag7",
        "q=word700&tag=tag7",
        "q=word3&sort=date",
        'q="word1 word2"',
    ),
}

PAGES: Mapping[str, Sequence[str]] = {
    "pages": ("/", "/?type=invoice&tag=tag3", "/?q=word700&by=text", "/?q=bakery", "/review", "/tags"),
}

_WORDS = """
    (SELECT string_agg('word' || (power(random(), 3) * 2000)::int, ' ') FROM generate_series(1, 80)
      WHERE number > 0)
"""


_EMBEDDING = """
    INSERT INTO document_embedding (document_id, tenant_id, model, vector, embedding)
    SELECT id, tenant_id, %(model)s, decode(repeat('00', 512), 'hex'),
           (SELECT array_agg(random() - 0.5) FROM generate_series(1, 256) WHERE id IS NOT NULL)::halfvec
      FROM document WHERE tenant_id = %(tenant)s
"""


def fill(url: str, tenant_id: UUID, documents: int) -> None:
    """Add documents of a tenant, with everything that triggers would have added."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute("SELECT set_config('docmill.tenant_id', %s, false)", [str(tenant_id)])
        conn.execute(
            "SELECT tag_named(%s, 'tag' || number) FROM generate_series(1, 50) AS number", [tenant_id]
        )
        for first in range(0, documents, BATCH):
            conn.execute(
                f"""
                INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path,
                                      media_type, document_type, title, document_date, language, text,
                                      structured_data, needs_human_review, created_at)
                SELECT new_uuid7(), %(tenant)s, encode(sha256((%(tenant)s || number::text)::bytea), 'hex'),
                       1000, number || '.pdf', 'a', 'application/pdf',
                       (ARRAY['invoice', 'invoice', 'invoice', 'receipt', 'letter'])[1 + number %% 5],
                       'Invoice ' || number || ' of party ' || number %% 2000,
                       date '2020-01-01' + (random() * 2400)::int, 'en', {_WORDS},
                       jsonb_build_object('gross_total', round((random() * 10000)::numeric, 2)::text,
                                          'currency', 'EUR',
                                          'seller', jsonb_build_object('name', 'Party ' || number %% 2000)),
                       number %% 50 = 0, clock_timestamp()
                  FROM generate_series(%(first)s::int, %(last)s::int) AS number
                """,  # noqa: S608  a constant
                {"tenant": tenant_id, "first": first, "last": min(first + BATCH, documents) - 1},
            )
        conn.execute(
            """
            INSERT INTO tag_assignment (document_id, tag_id, tenant_id, origin, position)
            SELECT document.id, tag.id, document.tenant_id, 'machine', 1
              FROM (SELECT id, tenant_id, row_number() OVER () AS number FROM document
                     WHERE tenant_id = %(tenant)s) AS document
              JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM tag
                     WHERE tenant_id = %(tenant)s) AS tag
                ON tag.number IN (1 + document.number %% 50, 1 + (document.number / 50) %% 50)
            """,
            {"tenant": tenant_id},
        )
        conn.execute(
            """
            UPDATE document
               SET words = document_words(title, file_name, NULL, document_date, structured_data, text,
                                          language) || tag_words(id) || tenant_word(tenant_id)::tsvector,
                   counterparty = document_counterparty(structured_data, document_type),
                   counterparty_key = folded_name(document_counterparty(structured_data, document_type)),
                   amount_hundredths = document_amount(structured_data, document_type)
             WHERE tenant_id = %(tenant)s
            """,
            {"tenant": tenant_id},
        )
        conn.execute(
            """
            INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, classification,
                                   valid_structured_data, error_code, error_message, failed_step,
                                   completed_at)
            SELECT new_uuid7(), tenant_id, id, '00000000-0000-7000-8000-000000000002',
                   CASE WHEN is_failed THEN 'failed' ELSE 'completed' END,
                   '{}', true, CASE WHEN is_failed THEN 'corrupt' END, CASE WHEN is_failed THEN 'broken' END,
                   CASE WHEN is_failed THEN 'transcribe' END, clock_timestamp()
              FROM (SELECT *, row_number() OVER () %% 500 = 0 AS is_failed FROM document
                     WHERE tenant_id = %(tenant)s) AS document
            """,
            {"tenant": tenant_id},
        )
        conn.execute(_EMBEDDING, {"tenant": tenant_id, "model": NAME})


async def viewer_session(service: Service) -> str:
    """The token of the session of a viewer, of a vault that may have accounts already."""
    if not await service.accounts.exist():
        await service.accounts.create_first(
            NewPerson("owner@example.org", "Owner", "a long password"), "Acme"
        )
    viewer, _ = await service.accounts.add(
        f"{new_id()}@example.org", "Viewer", "viewer", tenant_id=service.default_tenant_id
    )
    return (await service.sign_in.begin_session(viewer, Visitor())).token


async def measure(settings: Settings, rounds: int) -> None:
    """Print median and p95 of each kind of request, and the median of each request."""
    async with open_service(settings) as service:
        app = create_app(service, PaintedPages(), settings)
        transport = httpx.ASGITransport(app)
        cookies = {SESSION_COOKIE: await viewer_session(service)}
        of_api = {
            kind: [f"/api/v1/documents?{query}" for query in queries] for kind, queries in QUERIES.items()
        }
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", cookies=cookies
        ) as client:
            for kind, queries in {**of_api, **PAGES}.items():
                times: dict[str, list[float]] = {query: [] for query in queries}
                for _ in range(rounds):
                    for query, seconds in times.items():
                        began = time.perf_counter()
                        answer = await client.get(query)
                        seconds.append(time.perf_counter() - began)
                        answer.raise_for_status()
                every = [second for seconds in times.values() for second in seconds]
                p95 = statistics.quantiles(every, n=20)[-1]
                print(
                    f"{kind}: median {statistics.median(every) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms",
                    flush=True,
                )
                for query, seconds in times.items():
                    asked = query.removeprefix("/api/v1/documents")
                    print(f"    {statistics.median(seconds) * 1000:7.1f} ms  {asked}")


def main() -> None:
    """Fill a database of its own, and measure."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=100_000, help="of the tenant that is asked for")
    parser.add_argument("--others", type=int, default=900_000, help="of other tenants")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()
        try:
            migrate(server.url())
            with psycopg.connect(server.url(), autocommit=True) as conn:
                others = [new_id() for _ in range(OTHER_TENANTS)]
                for other in others:
                    conn.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Other')", [other])
            began = time.perf_counter()
            with psycopg.connect(server.url(), autocommit=True) as conn:  # built at once, below
                conn.execute("DROP INDEX document_embedding_nearest")
            for tenant_id in others:
                fill(server.url(), tenant_id, arguments.others // OTHER_TENANTS)
            fill(server.url(), DEFAULT_TENANT_ID, arguments.documents)
            with psycopg.connect(server.url(), autocommit=True) as conn:
                conn.execute("SET maintenance_work_mem = '2GB'")
                conn.execute(
                    "CREATE INDEX document_embedding_nearest ON document_embedding"
                    " USING hnsw (embedding halfvec_cosine_ops)"
                )
                conn.execute("VACUUM ANALYZE")
            print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
            settings = Settings(data_dir=Path(folder), database_url=SecretStr(server.url()))
            asyncio.run(measure(settings, arguments.rounds))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
