"""Documents that are to be matched: requests, and claims of workers. Every write names its fence."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import DocmillError, TransientError
from docmill.service.protocol.matching_rules import MATCHING_TRIES, MatchingObstacle
from docmill.service.store import dead_letters
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Conn, storable
from docmill.service.store.sweeps import IdleWork

Ending = Literal["ended", "requested again", "lost"]
"""`requested again`: the document was asked for meanwhile; its message is to be sent. `lost`: the claim."""


@dataclass(frozen=True, slots=True)
class MatchingClaim:
    """A document that a worker matches.

    fence: unlike that of any other claim of any document. requests: those that it answers. attempt: its
    number since the newest request, from 1. is_taken_over: from a worker whose lease was over. waited_s: for
    how long it has waited for what fails and is left alone.
    """

    document_id: UUID
    tenant_id: UUID
    fence: int
    requests: int
    attempt: int
    is_taken_over: bool = False
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class MatchingJobId:
    """A document that is to be matched, and whose it is."""

    id: UUID
    tenant_id: UUID


async def request_matching(conn: Conn, document_ids: Sequence[UUID], *, types: Collection[str]) -> list[UUID]:
    """Ask for documents to be matched; those whose message is to be sent.

    Of these types, or matched before: a document whose type has changed has matches to be dropped. The caller
    has locked them. One that a worker has gets its message when that ends.
    """
    cur = await conn.execute(
        """
        WITH wanted AS (
            SELECT id, tenant_id
              FROM document
             WHERE id = ANY(%(ids)s)
               AND result_ingestion_id IS NOT NULL
               AND (document_type = ANY(%(types)s) OR matching_status IS NOT NULL
                    OR EXISTS (SELECT FROM match_record
                                WHERE match_record.tenant_id = document.tenant_id
                                  AND document_id = document.id))
             ORDER BY id
        ), before AS (
            SELECT document_id,
                   CASE WHEN lease_until IS NULL THEN next_attempt_at IS NULL
                        ELSE lease_until > clock_timestamp() END AS has_message
              FROM matching_job
              JOIN wanted ON wanted.id = document_id
        ), asked AS (
            INSERT INTO matching_job AS job (document_id, tenant_id)
            SELECT id, tenant_id FROM wanted
                ON CONFLICT (document_id) DO UPDATE
               SET requests = job.requests + 1,
                   requested_at = clock_timestamp(),
                   progress_at = clock_timestamp(),
                   sent_at = NULL,
                   attempts = CASE WHEN job.lease_until > clock_timestamp() THEN job.attempts ELSE 0 END,
                   next_attempt_at = NULL,
                   lease_until = CASE WHEN job.lease_until > clock_timestamp() THEN job.lease_until END
            RETURNING document_id, attempts, lease_until IS NOT NULL AS is_held
        ), marked AS (
            UPDATE document
               SET matching_status = CASE WHEN is_held THEN 'in-progress' ELSE 'pending' END,
                   matching_attempts = attempts,
                   matching_failed_at = NULL
              FROM asked
             WHERE document.id = asked.document_id
        )
        SELECT document_id FROM asked LEFT JOIN before USING (document_id) WHERE has_message IS NOT TRUE
        """,
        {"ids": list(document_ids), "types": list(types)},
    )
    to_send = [document_id for (document_id,) in await cur.fetchall()]
    await dead_letters.forget_bodies(conn, document_ids)
    return to_send


async def never_asked_for(conn: Conn, *, types: Collection[str], limit: int) -> list[MatchingJobId]:
    """Up to `limit` documents of these types, of all tenants, that were read while nothing was matched."""
    async with conn.cursor(row_factory=class_row(MatchingJobId)) as cur:
        await cur.execute(
            "SELECT id, tenant_id FROM documents_never_matched(%(types)s, %(limit)s)",
            {"types": sorted(types), "limit": limit},
        )
        return await cur.fetchall()


async def matched_before(conn: Conn, version: int, *, limit: int) -> list[MatchingJobId]:
    """Up to `limit` documents, of all tenants, that were matched by an earlier version of matching."""
    async with conn.cursor(row_factory=class_row(MatchingJobId)) as cur:
        await cur.execute(
            "SELECT id, tenant_id FROM documents_matched_before(%(version)s, %(limit)s)",
            {"version": version, "limit": limit},
        )
        return await cur.fetchall()


async def withdraw(conn: Conn, document_ids: Sequence[UUID]) -> None:
    """Have documents matched no more, which are about to go to the bin. Who works on one loses it."""
    await conn.execute(
        "DELETE FROM matching_job WHERE document_id = ANY(%(ids)s)", {"ids": list(document_ids)}
    )
    await conn.execute(
        """
        UPDATE document
           SET matching_status = NULL, matching_error = NULL, matching_attempts = 0,
               matching_failed_at = NULL, cluster_id = NULL
         WHERE id = ANY(%(ids)s) AND (matching_status IS NOT NULL OR cluster_id IS NOT NULL)
        """,
        {"ids": list(document_ids)},
    )


async def depending_on(conn: Conn, document_ids: Sequence[UUID]) -> list[UUID]:
    """The other documents whose links may be others with or without these, which the tenant can see.

    Those in a cluster with a record of these; those that a pair connects to one, or makes part of a sum; and
    those that a person has linked to one. Records and not documents have clusters: a statement has many.
    """
    cur = await conn.execute(
        """
        WITH own AS (
            SELECT id, cluster_id
              FROM match_record
             WHERE tenant_id = (SELECT current_tenant()) AND document_id = ANY(%(ids)s)
        ), depending AS (
            SELECT document_id
              FROM match_record
             WHERE cluster_id IN (SELECT cluster_id FROM own)
             UNION
            SELECT match_record.document_id
              FROM own
              JOIN match_edge ON first_id = own.id
              JOIN match_record ON match_record.id = second_id
             WHERE match_edge.tenant_id = (SELECT current_tenant()) AND (connects OR wholes <> '{}')
             UNION
            SELECT match_record.document_id
              FROM own
              JOIN match_edge ON second_id = own.id
              JOIN match_record ON match_record.id = first_id
             WHERE match_edge.tenant_id = (SELECT current_tenant()) AND (connects OR wholes <> '{}')
             UNION
            SELECT second_document_id
              FROM match_decision
             WHERE first_document_id = ANY(%(ids)s) AND decision = 'confirmed'
             UNION
            SELECT first_document_id
              FROM match_decision
             WHERE second_document_id = ANY(%(ids)s) AND decision = 'confirmed'
        )
        SELECT id
          FROM document
         WHERE id IN (SELECT document_id FROM depending) AND id <> ALL(%(ids)s)
         ORDER BY id
        """,
        {"ids": list(document_ids)},
    )
    return [document_id for (document_id,) in await cur.fetchall()]


async def tenant_of(conn: Conn, document_id: UUID) -> UUID | None:
    """The tenant of a document that is to be matched; None for any other. It may be asked across tenants."""
    cur = await conn.execute(
        "SELECT tenant_id FROM matching_job WHERE document_id = %(id)s", {"id": document_id}
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def take(
    conn: Conn, document_id: UUID, *, worker_id: str, lease_s: float, token: UUID
) -> MatchingClaim | None:
    """The claim on a document, if it is to be had. The attempt is counted here and not at its end.

    token: unlike that of any other claim. Asked again with it by who has not heard of the commit, it gives
    the claim again, with another fence.
    """
    async with conn.cursor(row_factory=class_row(MatchingClaim)) as cur:
        await cur.execute(
            """
            WITH free AS (
                SELECT document_id, lease_until IS NOT NULL AS was_held,
                       claim_token IS NOT DISTINCT FROM %(token)s::uuid AS is_ours
                  FROM matching_job
                  JOIN document ON document.id = document_id
                 WHERE document_id = %(id)s
                   AND (claim_token = %(token)s
                        OR (attempts < %(tries)s
                            AND (lease_until IS NULL OR lease_until <= clock_timestamp())
                            AND (next_attempt_at IS NULL OR next_attempt_at <= clock_timestamp())))
                   -- Whoever holds a lock is changing it: to wait could be to wait in a circle.
                   FOR NO KEY UPDATE SKIP LOCKED
            ), taken AS (
                UPDATE matching_job
                   SET fence = nextval('matching_fence'),
                       attempts = attempts + (NOT is_ours)::integer,
                       worker_id = %(worker_id)s,
                       claim_token = %(token)s,
                       started_at = clock_timestamp(),
                       progress_at = clock_timestamp(),
                       lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
                       next_attempt_at = NULL
                  FROM free
                 WHERE matching_job.document_id = free.document_id
                RETURNING matching_job.document_id, tenant_id, fence, requests, attempts,
                          was_held AND NOT is_ours AS is_taken_over,
                          coalesce(
                              extract(epoch FROM clock_timestamp() - waiting_since), 0
                          )::float8 AS waited_s
            )
            UPDATE document
               SET matching_status = 'in-progress', matching_attempts = taken.attempts
              FROM taken
             WHERE document.id = taken.document_id
            RETURNING taken.document_id, taken.tenant_id, fence, requests, attempts AS attempt, is_taken_over,
                      waited_s
            """,
            {
                "id": document_id,
                "worker_id": worker_id,
                "lease_s": lease_s,
                "token": token,
                "tries": MATCHING_TRIES,
            },
        )
        return await cur.fetchone()


async def obstacle(conn: Conn, document_id: UUID) -> MatchingObstacle | None:
    """The obstacle to a claim on a document; None if it is not to be matched."""
    cur = await conn.execute(
        """
        SELECT -- greatest() passes over NULL.
               greatest(
                   extract(epoch FROM greatest(lease_until, next_attempt_at) - clock_timestamp()), 0
               )::float8,
               attempts >= %(tries)s
          FROM matching_job
         WHERE document_id = %(id)s
        """,
        {"id": document_id, "tries": MATCHING_TRIES},
    )
    row = await cur.fetchone()
    return MatchingObstacle(*row) if row else None


async def extend(conn: Conn, claim: MatchingClaim, *, lease_s: float) -> bool:
    """Hold on for `lease_s` from now. False if the claim is lost. It needs no tenant."""
    cur = await conn.execute(
        """
        UPDATE matching_job
           SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
               progress_at = clock_timestamp()
         WHERE document_id = %(id)s AND fence = %(fence)s
        """,
        {"id": claim.document_id, "fence": claim.fence, "lease_s": lease_s},
    )
    return cur.rowcount == 1


async def set_back(
    conn: Conn, claim: MatchingClaim, *, error: DocmillError | None, delay_s: float, counts: bool
) -> Ending:
    """Let the document be claimed again after `delay_s`, or at once if it was requested again.

    error: why, None when its worker stops. counts: whether this was an attempt. A transient error that does
    not count begins the time for which the document waits, unless that has begun before.
    """
    await lock_documents(conn, [claim.document_id])
    cur = await conn.execute(
        """
        UPDATE matching_job
           SET lease_until = NULL,
               claim_token = NULL,
               fence = nextval('matching_fence'),
               attempts = attempts - %(refund)s,
               waiting_since = CASE
                   WHEN %(waits)s THEN coalesce(waiting_since, clock_timestamp())
                   ELSE waiting_since
               END,
               progress_at = clock_timestamp(),
               next_attempt_at = clock_timestamp() + make_interval(secs => %(delay_s)s)
         WHERE document_id = %(id)s AND fence = %(fence)s AND requests = %(requests)s
        RETURNING attempts
        """,
        {
            **_key(claim),
            "delay_s": delay_s,
            "refund": 0 if counts else 1,
            "waits": isinstance(error, TransientError) and not counts,
        },
    )
    row = await cur.fetchone()
    ending = "ended" if row else await _begin_again(conn, claim)
    if ending != "lost":
        await conn.execute(
            """
            UPDATE document
               SET matching_status = 'pending',
                   matching_attempts = %(attempts)s,
                   matching_error = coalesce(%(message)s, matching_error)
             WHERE id = %(id)s
            """,
            {
                "id": claim.document_id,
                "attempts": row[0] if row else 0,
                "message": storable(error.message) if error else None,
            },
        )
    return ending


async def is_held(conn: Conn, claim: MatchingClaim) -> bool:
    """Whether the claim still stands, as it then does until the end of the transaction."""
    cur = await conn.execute(
        "SELECT FROM matching_job WHERE document_id = %(id)s AND fence = %(fence)s FOR NO KEY UPDATE",
        {"id": claim.document_id, "fence": claim.fence},
    )
    return cur.rowcount == 1


async def succeed(conn: Conn, claim: MatchingClaim, *, missing: str | None = None) -> Ending:
    """End the job with the matches that this transaction has written; to be rolled back if that is lost.

    missing: why a model was not asked; it is stored as the error of a document that is matched all the same.
    """
    ending = await _end(conn, claim)
    if ending != "lost":
        await conn.execute(
            """
            UPDATE document
               SET matching_status = %(status)s,
                   matching_attempts = CASE WHEN %(is_over)s THEN matching_attempts ELSE 0 END,
                   matching_error = %(missing)s,
                   matching_failed_at = NULL
             WHERE id = %(id)s
            """,
            {
                "id": claim.document_id,
                "missing": storable(missing) if missing else None,
                "status": "succeeded" if ending == "ended" else "pending",
                "is_over": ending == "ended",
            },
        )
    return ending


async def fail(conn: Conn, claim: MatchingClaim, error: DocmillError, *, receive_count: int) -> Ending:
    """End the job with a dead letter; a person must look. receive_count: of the message that led here.

    Requested again meanwhile, it does not fail, and begins anew.
    """
    ending = await _end(conn, claim)
    if ending == "lost":
        return ending
    if ending == "requested again":
        await conn.execute(
            """
            UPDATE document
               SET matching_status = 'pending', matching_attempts = 0, matching_error = %(message)s
             WHERE id = %(id)s
            """,
            {"id": claim.document_id, "message": storable(error.message)},
        )
        return ending
    await _mark_failed(conn, claim.document_id, error, attempts=claim.attempt, receive_count=receive_count)
    return ending


async def give_up(conn: Conn, document_id: UUID, error: DocmillError, *, receive_count: int) -> int | None:
    """Fail a document whose attempts are used up, without a worker; their number, None if it is not so.

    receive_count: of the message that led here, for the dead letter.
    """
    await lock_documents(conn, [document_id])
    cur = await conn.execute(
        """
        DELETE FROM matching_job
         WHERE document_id = %(id)s
           AND attempts >= %(tries)s
           AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING attempts
        """,
        {"id": document_id, "tries": MATCHING_TRIES},
    )
    row = await cur.fetchone()
    if row is None:
        return None
    await _mark_failed(conn, document_id, error, attempts=row[0], receive_count=receive_count)
    return row[0]


async def _mark_failed(
    conn: Conn, document_id: UUID, error: DocmillError, *, attempts: int, receive_count: int
) -> None:
    await conn.execute(
        """
        UPDATE document
           SET matching_status = 'failed',
               matching_attempts = %(attempts)s,
               matching_error = %(message)s,
               matching_failed_at = clock_timestamp()
         WHERE id = %(id)s
        """,
        {"id": document_id, "attempts": attempts, "message": storable(error.message)},
    )
    await dead_letters.write_matching(
        conn, document_id, error, attempts=attempts, receive_count=receive_count
    )


async def _end(conn: Conn, claim: MatchingClaim) -> Ending:
    await lock_documents(conn, [claim.document_id])
    cur = await conn.execute(
        """
        DELETE FROM matching_job
         WHERE document_id = %(id)s AND fence = %(fence)s AND requests = %(requests)s
        """,
        _key(claim),
    )
    return "ended" if cur.rowcount == 1 else await _begin_again(conn, claim)


async def _begin_again(conn: Conn, claim: MatchingClaim) -> Ending:
    """Make a claimed job due from its first attempt, since it was requested again."""
    cur = await conn.execute(
        """
        UPDATE matching_job
           SET lease_until = NULL,
               claim_token = NULL,
               fence = nextval('matching_fence'),
               attempts = 0,
               progress_at = clock_timestamp(),
               next_attempt_at = NULL
         WHERE document_id = %(id)s AND fence = %(fence)s
        """,
        {"id": claim.document_id, "fence": claim.fence},
    )
    return "requested again" if cur.rowcount == 1 else "lost"


def _key(claim: MatchingClaim) -> dict[str, object]:
    return {"id": claim.document_id, "fence": claim.fence, "requests": claim.requests}


async def idle(conn: Conn, *, grace_s: float, after: UUID, limit: int) -> list[IdleWork]:
    """Up to `limit` documents after id `after` that are to be matched, but not for `grace_s` in any hands.

    Sent again already, one waits as long again as it had waited until then: a queue that cannot say what it
    holds is not flooded.
    """
    async with conn.cursor(row_factory=class_row(IdleWork)) as cur:
        await cur.execute(
            """
            SELECT document_id AS id, tenant_id,
                   extract(
                       epoch FROM now() - greatest(progress_at, lease_until, next_attempt_at, sent_at)
                   )::float8 AS due_for_s
              FROM matching_job
             WHERE document_id > %(after)s
               AND greatest(progress_at, lease_until, next_attempt_at, sent_at)
                   <= now() - make_interval(secs => %(grace_s)s)
               AND (sent_at IS NULL OR sent_at + (sent_at - progress_at) <= now())
               AND NOT EXISTS (SELECT FROM outbox WHERE body = document_id::text)
             ORDER BY document_id
             LIMIT %(limit)s
            """,
            {"grace_s": grace_s, "after": after, "limit": limit},
        )
        return await cur.fetchall()


async def note_sent(conn: Conn, document_ids: Sequence[UUID]) -> list[UUID]:
    """Note that the messages of these are sent again; those that are still to be matched."""
    cur = await conn.execute(
        """
        UPDATE matching_job
           SET sent_at = clock_timestamp()
         WHERE document_id = ANY(%(ids)s) AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING document_id
        """,
        {"ids": list(document_ids)},
    )
    return [document_id for (document_id,) in await cur.fetchall()]


@dataclass(frozen=True, slots=True)
class MatchingFigures:
    """The numbers of documents to be matched. stuck: in progress for more than 10 minutes.

    oldest_at: the newest request of the document that has waited longest; None if none waits.
    """

    pending: int
    in_progress: int
    stuck: int
    oldest_at: datetime | None


async def figures_of_tenant(conn: Conn) -> MatchingFigures:
    """The numbers of the tenant of this transaction."""
    async with conn.cursor(row_factory=class_row(MatchingFigures)) as cur:
        await cur.execute(
            """
            SELECT count(*) FILTER (WHERE lease_until IS NULL) AS pending,
                   count(*) FILTER (WHERE lease_until IS NOT NULL) AS in_progress,
                   count(*) FILTER (
                       WHERE lease_until IS NOT NULL AND started_at < now() - interval '10 minutes'
                   ) AS stuck,
                   min(requested_at) FILTER (WHERE lease_until IS NULL) AS oldest_at
              FROM matching_job
             WHERE tenant_id = (SELECT current_tenant())
            """
        )
        row = await cur.fetchone()
    assert row is not None, "an aggregate has a row"
    return row


async def count_stuck(conn: Conn) -> int:
    """The number of documents, of all tenants, that have been in progress for more than 10 minutes."""
    cur = await conn.execute(
        """
        SELECT count(*)
          FROM matching_job
         WHERE lease_until IS NOT NULL AND started_at < now() - interval '10 minutes'
        """
    )
    (number,) = await cur.fetchone() or (0,)
    return number


async def stuck(conn: Conn, *, limit: int) -> list[MatchingJobId]:
    """Up to `limit` documents that have been in progress for more than 10 minutes, longest first."""
    async with conn.cursor(row_factory=class_row(MatchingJobId)) as cur:
        await cur.execute(
            """
            SELECT document_id AS id, tenant_id
              FROM matching_job
             WHERE lease_until IS NOT NULL AND started_at < now() - interval '10 minutes'
             ORDER BY started_at
             LIMIT %(limit)s
            """,
            {"limit": limit},
        )
        return await cur.fetchall()
