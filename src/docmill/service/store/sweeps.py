"""Queries of the sweeper: they find losses across tenants and repair them within one."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.bin import showing_bin
from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class IngestionId:
    """An ingestion and whose it is."""

    id: UUID
    tenant_id: UUID


class OfTenant(Protocol):
    """Anything that has an id and belongs to a tenant."""

    @property
    def id(self) -> UUID:
        """Its own id."""
        ...

    @property
    def tenant_id(self) -> UUID:
        """The id of its tenant."""
        ...


@dataclass(frozen=True, slots=True)
class IdleWork:
    """An ingestion or document that is due and in nobody's hands, and for how long."""

    id: UUID
    tenant_id: UUID
    due_for_s: float


def by_tenant(things: Iterable[OfTenant]) -> Mapping[UUID, list[UUID]]:
    """The ids of each tenant."""
    ids: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for thing in things:
        ids[thing.tenant_id].append(thing.id)
    return ids


async def idle(conn: Conn, *, grace_s: float, after: UUID, limit: int) -> list[IdleWork]:
    """Up to `limit` ingestions after id `after` that are in progress, but not for `grace_s` in any hands."""
    async with conn.cursor(row_factory=class_row(IdleWork)) as cur:
        await cur.execute(
            """
            SELECT id, tenant_id, due_for_s
              FROM idle_ingestions(make_interval(secs => %(grace_s)s), %(after)s, %(limit)s)
            """,
            {"grace_s": grace_s, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def ahead(conn: Conn, *, by_s: float, limit: int) -> list[IngestionId]:
    """Up to `limit` ingestions in progress that moved more than `by_s` in the future: the clock was ahead."""
    async with conn.cursor(row_factory=class_row(IngestionId)) as cur:
        await cur.execute(
            "SELECT id, tenant_id FROM ingestions_ahead(make_interval(secs => %(by_s)s), %(limit)s)",
            {"by_s": by_s, "limit": limit},
        )
        return await cur.fetchall()


async def pull_back(conn: Conn, ids: Sequence[UUID], *, lease_s: float) -> list[UUID]:
    """Set the times of ingestions, and of their messages, as if they had moved now; those that were ahead.

    A wait for the next attempt stays as long as it was meant; a lease ends within `lease_s`, and is extended
    by its worker before, if that lives. One whose row is locked is just being set right.
    """
    cur = await conn.execute(
        """
        WITH early AS (
            SELECT id, progress_at - clock_timestamp() AS by
              FROM ingestion
             WHERE id = ANY(%(ids)s) AND status = 'in-progress' AND progress_at > clock_timestamp()
             ORDER BY id
               FOR UPDATE SKIP LOCKED
        ), moved AS (
            UPDATE ingestion
               SET progress_at = clock_timestamp(),
                   next_attempt_at = next_attempt_at - early.by,
                   lease_until = CASE
                       WHEN lease_until > clock_timestamp() + make_interval(secs => %(lease_s)s)
                       THEN clock_timestamp() + make_interval(secs => %(lease_s)s)
                       ELSE lease_until
                   END,
                   sent_at = CASE WHEN sent_at > clock_timestamp() THEN clock_timestamp() ELSE sent_at END
              FROM early
             WHERE ingestion.id = early.id
            RETURNING ingestion.id, greatest(clock_timestamp(), next_attempt_at, lease_until) AS due
        ), received AS (
            UPDATE message SET visible_at = moved.due
              FROM moved
             WHERE message.body = moved.id::text AND visible_at > moved.due
        ), sent AS (
            UPDATE outbox SET due_at = moved.due
              FROM moved
             WHERE outbox.body = moved.id::text AND due_at > moved.due
        )
        SELECT id FROM moved
        """,
        {"ids": list(ids), "lease_s": lease_s},
    )
    return [ingestion_id for (ingestion_id,) in await cur.fetchall()]


async def held_by(conn: Conn, worker_id: str) -> list[IngestionId]:
    """The ingestions that a worker holds."""
    async with conn.cursor(row_factory=class_row(IngestionId)) as cur:
        await cur.execute(
            "SELECT id, tenant_id FROM ingestions_held_by(%(worker_id)s)", {"worker_id": worker_id}
        )
        return await cur.fetchall()


async def to_judge(conn: Conn, *, after: UUID, limit: int) -> list[IngestionId]:
    """Up to `limit` documents after id `after` with a result under which reviews are not judged yet."""
    async with conn.cursor(row_factory=class_row(IngestionId)) as cur:
        await cur.execute(
            "SELECT id, tenant_id FROM documents_to_judge(%(after)s, %(limit)s)",
            {"after": after, "limit": limit},
        )
        return await cur.fetchall()


async def note_sent(conn: Conn, ids: Sequence[UUID]) -> list[UUID]:
    """Note that these ingestions are sent again; those that are still to be worked on."""
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET sent_at = clock_timestamp()
         WHERE id = ANY(%(ids)s)
           AND status = 'in-progress'
           AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING id
        """,
        {"ids": list(ids)},
    )
    return [ingestion_id for (ingestion_id,) in await cur.fetchall()]


async def give_back(
    conn: Conn, ids: Sequence[UUID], *, worker_id: str, begun: Collection[str] | None = None
) -> list[UUID]:
    """Take ingestions out of the hands of a worker that is dead; those that it still held.

    The attempt it died in is given back. begun: the claims, as `id-fence`, whose work it had begun, None if
    that is not known of any; these are suspects from now on, the others cannot be.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET lease_until = NULL,
               fence = fence + 1,
               attempt_count = attempt_count - 1,
               deaths = deaths + (
                   %(begun)s::text[] IS NULL OR id::text || '-' || fence::text = ANY(%(begun)s::text[])
               )::integer,
               claim_token = NULL
         WHERE id = ANY(%(ids)s)
           AND status = 'in-progress'
           AND lease_until IS NOT NULL
           AND worker_id = %(worker_id)s
        RETURNING id
        """,
        {"ids": list(ids), "worker_id": worker_id, "begun": None if begun is None else list(begun)},
    )
    return [ingestion_id for (ingestion_id,) in await cur.fetchall()]


async def documents_of(conn: Conn, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """The documents of one tenant's ingestions."""
    if not ids:
        return {}
    cur = await conn.execute(
        "SELECT id, document_id FROM ingestion WHERE id = ANY(%(ids)s)", {"ids": list(ids)}
    )
    return dict(await cur.fetchall())


async def vault_id(conn: Conn) -> UUID:
    """The name of this database, the same for ever."""
    cur = await conn.execute("SELECT id FROM vault")
    row = await cur.fetchone()
    assert row is not None  # a migration made it
    return row[0]


async def known_hashes(conn: Conn, content_hashes: Sequence[str]) -> set[str]:
    """The content hashes of which the tenant has a document, which may be in the bin."""
    async with showing_bin(conn):
        cur = await conn.execute(
            "SELECT content_hash FROM document WHERE content_hash = ANY(%(hashes)s)",
            {"hashes": list(content_hashes)},
        )
        return {content_hash for (content_hash,) in await cur.fetchall()}


async def tenants_with_old_events(conn: Conn, *, days: float, limit: int) -> list[UUID]:
    """The tenants of the oldest `limit` events that are older than `days`."""
    cur = await conn.execute(
        """
        SELECT tenant_id
          FROM tenants_with_events_before(now() - make_interval(secs => %(days)s * 86400), %(limit)s)
        """,
        {"days": days, "limit": limit},
    )
    return [tenant_id for (tenant_id,) in await cur.fetchall()]


async def purge_events(conn: Conn, *, days: float, limit: int) -> int:
    """Forget up to `limit` of the tenant's events that are older than `days`; how many there were."""
    cur = await conn.execute(
        """
        DELETE FROM event
         WHERE id IN (
               SELECT id
                 FROM (SELECT id, at FROM event ORDER BY id LIMIT %(limit)s) AS oldest
                WHERE at < now() - make_interval(secs => %(days)s * 86400)
               )
        """,
        {"days": days, "limit": limit},
    )
    return cur.rowcount


async def is_our_turn(conn: Conn, chore: str, *, again_s: float) -> bool:
    """Lock a chore if it is due and no other worker does it; the lock lasts until the transaction ends.

    again_s: as in `note_done`. Due later than that, it was noted by a clock that has been put back since.
    The transaction idles while the chore is done elsewhere, for as long as a large store may take.
    """
    await conn.execute("SET LOCAL idle_in_transaction_session_timeout = '1h'")
    cur = await conn.execute(
        """
        SELECT pg_try_advisory_xact_lock(hashtextextended('chore ' || %(chore)s, 0))
               AND NOT EXISTS (
                       SELECT FROM chore
                        WHERE name = %(chore)s
                          AND due_at > now()
                          AND due_at <= now() + make_interval(secs => %(again_s)s)
                   )
        """,
        {"chore": chore, "again_s": again_s},
    )
    (is_ours,) = await cur.fetchone() or (False,)
    return is_ours


async def note_done(conn: Conn, chore: str, *, again_s: float) -> None:
    """A chore is done; it is due again in `again_s`."""
    await conn.execute(
        """
        INSERT INTO chore (name, due_at) VALUES (%(chore)s, now() + make_interval(secs => %(again_s)s))
            ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at
        """,
        {"chore": chore, "again_s": again_s},
    )
