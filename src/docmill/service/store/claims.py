"""Claims of workers on ingestions. Every write names its fence, so that a lost claim writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from docmill.errors import DocmillError, TransientError
from docmill.model.document import Usage
from docmill.resilience.spending import NOTHING
from docmill.service.protocol.claim_rules import Obstacle
from docmill.service.store import dead_letters, near_duplicates, result_columns, serial_numbers
from docmill.service.store.database import Conn, storable, to_jsonb
from docmill.service.store.result_columns import StoredResult
from docmill.service.store.serial_numbers import ReadNumbers


@dataclass(frozen=True, slots=True)
class Claim:
    """An ingestion that a worker holds, and the file to be processed.

    fence: grows with every claim and every end of one. attempt: from 1. traceparent: see `ingestions.begin`.
    token: shared by the claims that one question got, never by two claims of one ingestion.
    input_tokens to cost: what earlier attempts have cost. document_type: chosen by a person; None if not.
    waited_s: for how long it has waited for what fails and is left alone, at the time of the claim.
    """

    ingestion_id: UUID
    tenant_id: UUID
    document_id: UUID
    fence: int
    attempt: int
    file_path: str
    file_name: str
    traceparent: str | None = None
    token: UUID | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    model: str | None = None
    cost: Decimal = Decimal(0)
    transcription_file_path: str | None = None
    preprocessed_file_path: str | None = None
    document_type: str | None = None
    waited_s: float = 0.0

    @property
    def spent(self) -> Usage:
        """The cost of earlier attempts."""
        if not (self.input_tokens or self.output_tokens or self.cost):
            return NOTHING
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            model=self.model,
            cost=self.cost,
        )


async def tenants_of(conn: Conn, ingestion_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """The tenants of ingestions; unknown ones are absent. It may be asked across tenants."""
    cur = await conn.execute(
        "SELECT id, tenant_id FROM tenants_of_ingestions(%(ids)s)", {"ids": list(ingestion_ids)}
    )
    return dict(await cur.fetchall())


async def take(
    conn: Conn,
    ingestion_ids: Sequence[UUID],
    *,
    worker_id: str,
    lease_s: float,
    max_attempts: int,
    alone: bool = False,
    token: UUID | None = None,
) -> list[Claim]:
    """Claims on those of one tenant's ingestions that are to be had.

    alone: whether the worker has nothing else in work; others get no suspects. token: names these claims, see
    `taken_before`. The attempt is counted here and not at its end. A lease that ran out is counted here as a
    death, and its attempt given back, so that a document that kills its worker cannot do so for ever.
    """
    async with conn.cursor(row_factory=class_row(Claim)) as cur:
        await cur.execute(
            """
            WITH free AS (
                SELECT id, (lease_until IS NOT NULL)::integer AS lost
                  FROM ingestion
                 WHERE id = ANY(%(ids)s)
                   AND status = 'in-progress'
                   AND attempt_count - (lease_until IS NOT NULL)::integer < %(max_attempts)s
                   AND deaths + (lease_until IS NOT NULL)::integer <= %(max_deaths)s
                   AND (lease_until IS NULL OR lease_until <= clock_timestamp())
                   AND (next_attempt_at IS NULL OR next_attempt_at <= clock_timestamp())
                   -- Whoever holds the lock is changing it: two workers with the same ids must not wait for
                   -- each other in a circle.
                   FOR UPDATE SKIP LOCKED
            )
            UPDATE ingestion
               SET started_at = clock_timestamp(),
                   lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
                   worker_id = %(worker_id)s,
                   claim_token = %(token)s,
                   fence = fence + 1,
                   attempt_count = attempt_count + 1 - free.lost,
                   deaths = deaths + free.lost,
                   next_attempt_at = NULL,
                   progress_at = clock_timestamp()
              FROM free, document
             WHERE ingestion.id = free.id AND document.id = ingestion.document_id
            RETURNING ingestion.id AS ingestion_id, ingestion.tenant_id, document_id, fence,
                      attempt_count AS attempt,
                      coalesce(readable_file_path, file_path) AS file_path, file_name, traceparent,
                      claim_token AS token,
                      coalesce(extraction_input_tokens, 0) AS input_tokens,
                      coalesce(extraction_output_tokens, 0) AS output_tokens,
                      extraction_model AS model, coalesce(cost, 0) AS cost,
                      transcription_file_path, preprocessed_file_path,
                      coalesce(extract(epoch FROM clock_timestamp() - waiting_since), 0)::float8 AS waited_s,
                      (SELECT value #>> '{}' FROM current_review
                        WHERE current_review.document_id = ingestion.document_id
                          AND path = ':document_type') AS document_type
            """,
            {
                "ids": list(ingestion_ids),
                "worker_id": worker_id,
                "lease_s": lease_s,
                "max_attempts": max_attempts,
                "max_deaths": max_attempts if alone else 0,
                "token": token,
            },
        )
        return await cur.fetchall()


async def taken_before(conn: Conn, ingestion_ids: Sequence[UUID], *, token: UUID) -> list[Claim]:
    """The claims that an earlier `take` with `token` has got: its caller did not hear of the commit."""
    async with conn.cursor(row_factory=class_row(Claim)) as cur:
        await cur.execute(
            """
            SELECT ingestion.id AS ingestion_id, ingestion.tenant_id, document_id, fence,
                   attempt_count AS attempt,
                   coalesce(readable_file_path, file_path) AS file_path, file_name, traceparent,
                   claim_token AS token,
                   coalesce(extraction_input_tokens, 0) AS input_tokens,
                   coalesce(extraction_output_tokens, 0) AS output_tokens,
                   extraction_model AS model, coalesce(cost, 0) AS cost,
                   transcription_file_path, preprocessed_file_path,
                   coalesce(extract(epoch FROM clock_timestamp() - waiting_since), 0)::float8 AS waited_s,
                   (SELECT value #>> '{}' FROM current_review
                     WHERE current_review.document_id = ingestion.document_id
                       AND path = ':document_type') AS document_type
              FROM ingestion
              JOIN document ON document.id = ingestion.document_id
             WHERE ingestion.id = ANY(%(ids)s)
               AND claim_token = %(token)s
               AND status = 'in-progress'
               AND lease_until IS NOT NULL
            """,
            {"ids": list(ingestion_ids), "token": token},
        )
        return await cur.fetchall()


async def obstacles(conn: Conn, ingestion_ids: Sequence[UUID], *, max_attempts: int) -> dict[UUID, Obstacle]:
    """The obstacles to claims on one tenant's ingestions; those that do not exist are absent."""
    cur = await conn.execute(
        """
        SELECT id,
               status,
               -- greatest() passes over NULL.
               greatest(
                   extract(epoch FROM greatest(lease_until, next_attempt_at) - clock_timestamp()), 0
               )::float8,
               attempt_count - lost >= %(max_attempts)s OR deaths + lost > %(max_attempts)s,
               deaths + lost > 0
          FROM ingestion,
               coalesce((lease_until <= clock_timestamp())::integer, 0) AS lost
         WHERE id = ANY(%(ids)s)
        """,
        {"ids": list(ingestion_ids), "max_attempts": max_attempts},
    )
    return {
        id_: Obstacle(status, wait_s, used_up, suspect)
        for id_, status, wait_s, used_up, suspect in await cur.fetchall()
    }


async def give_up(
    conn: Conn, ingestion_id: UUID, *, max_attempts: int, error: DocmillError, receive_count: int = 0
) -> bool:
    """Fail an ingestion that is used up, see `protocol.is_used_up`. False if it is not like that.

    receive_count: of the message that led here, for the dead letter.
    """
    cur = await conn.execute("SELECT document_id FROM ingestion WHERE id = %(id)s", {"id": ingestion_id})
    await lock_documents(conn, [row[0] for row in await cur.fetchall()])
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET status = 'failed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               fence = fence + 1,
               attempt_count = attempt_count - (lease_until IS NOT NULL)::integer,
               deaths = deaths + (lease_until IS NOT NULL)::integer,
               lease_until = NULL,
               failed_step = coalesce(step, 'claim'),
               step = NULL,
               error_code = %(code)s,
               error_message = %(message)s
         WHERE id = %(id)s
           AND status = 'in-progress'
           AND (attempt_count - (lease_until IS NOT NULL)::integer >= %(max_attempts)s
                OR deaths + (lease_until IS NOT NULL)::integer > %(max_attempts)s)
           AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        """,
        {
            "id": ingestion_id,
            "max_attempts": max_attempts,
            "code": error.code,
            "message": storable(error.message),
        },
    )
    if cur.rowcount == 0:
        return False
    await dead_letters.write(conn, ingestion_id, receive_count=receive_count)
    return True


async def extend(conn: Conn, claim: Claim, *, lease_s: float, step: str | None) -> bool:
    """Hold on for `lease_s` from now; a sign of progress in `step`. False if the claim is lost."""
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
               progress_at = clock_timestamp(),
               step = coalesce(%(step)s, step)
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {"id": claim.ingestion_id, "fence": claim.fence, "lease_s": lease_s, "step": step},
    )
    return cur.rowcount == 1


async def progress(conn: Conn, steps: Sequence[tuple[Claim, str]]) -> None:
    """Note which step of each of one tenant's ingestions is under way; nothing where the claim is lost."""
    await conn.execute(
        """
        WITH still AS (
            SELECT ingestion.id, now.step
              FROM ingestion
              JOIN unnest(%(ids)s::uuid[], %(fences)s::bigint[], %(steps)s::text[]) AS now (id, fence, step)
                ON ingestion.id = now.id AND ingestion.fence = now.fence
             WHERE status = 'in-progress'
               -- One that is being ended needs no step; to wait for it could be to wait in a circle.
               FOR UPDATE OF ingestion SKIP LOCKED
        )
        UPDATE ingestion
           SET step = still.step, progress_at = clock_timestamp()
          FROM still
         WHERE ingestion.id = still.id
        """,
        {
            "ids": [claim.ingestion_id for claim, _ in steps],
            "fences": [claim.fence for claim, _ in steps],
            "steps": [step for _, step in steps],
        },
    )


async def finish(conn: Conn, finished: Sequence[tuple[Claim, StoredResult]]) -> set[UUID]:
    """Complete ingestions of one tenant; a trigger copies each result to its document.

    The ids of those that these claims completed, now or before: a caller who has not heard of a commit asks
    again. The claims of the others are lost.
    """
    await serial_numbers.lock_documents(
        conn,
        [claim.document_id for claim, _ in finished],
        labelled=[claim.document_id for claim, result in finished if result.serial_numbers],
    )
    completed = await _complete(conn, finished)
    if len(completed) < len(finished):
        completed |= await _finished_before(conn, [claim for claim, _ in finished])
    await _store_texts(conn, finished)
    of_completed = [(claim, result) for claim, result in finished if claim.ingestion_id in completed]
    for claim, result in of_completed:
        read = ReadNumbers(claim.document_id, claim.ingestion_id, result.serial_numbers, result.verdict)
        await serial_numbers.file_read(conn, read, tenant_id=claim.tenant_id)
    await _store_signatures(conn, of_completed)
    return completed


async def _complete(conn: Conn, finished: Sequence[tuple[Claim, StoredResult]]) -> set[UUID]:
    """Store the results of the ingestions that are still held by these claims; their ids."""
    results = await to_jsonb(
        [
            key_of(claim)
            | result.result_columns()
            | {
                "pipeline_fingerprint": result.pipeline_fingerprint,
                "error_code": result.error_code,
                "error_message": result.error_message,
            }
            for claim, result in finished
        ]
    )
    cur = await conn.execute(
        f"""
        UPDATE ingestion
           SET status = 'completed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               lease_until = NULL,
               step = NULL,
               failed_step = NULL,
               {result_columns.ASSIGNMENTS},
               pipeline_fingerprint = done.pipeline_fingerprint,
               error_code = done.error_code,
               error_message = done.error_message
          FROM jsonb_to_recordset(%(results)s) AS done (
                   ingestion_id uuid, fence bigint, {result_columns.DEFINITIONS},
                   pipeline_fingerprint text, error_code text, error_message text
               )
         WHERE ingestion.id = done.ingestion_id
           AND ingestion.fence = done.fence
           AND status = 'in-progress'
        RETURNING ingestion.id
        """,  # noqa: S608  the names of columns are our own
        {"results": results},
    )
    return {row[0] for row in await cur.fetchall()}


async def _store_texts(conn: Conn, finished: Sequence[tuple[Claim, StoredResult]]) -> None:
    """Store the texts with the documents only, for they are large; an older one replaces no newer one."""
    texts = await to_jsonb(
        [
            key_of(claim)
            | {"text": result.text, "page_count": result.page_count, "media_type": result.media_type}
            for claim, result in finished
        ]
    )
    await conn.execute(
        """
        UPDATE document
           SET text = done.text, page_count = done.page_count, media_type = done.media_type
          FROM jsonb_to_recordset(%(texts)s) AS done (
                   ingestion_id uuid, document_id uuid, text text, page_count integer, media_type text
               )
         WHERE document.id = done.document_id AND document.result_ingestion_id = done.ingestion_id
        """,
        {"texts": texts},
    )


async def _store_signatures(conn: Conn, completed: Sequence[tuple[Claim, StoredResult]]) -> None:
    """Store the signatures by which near duplicates are found; remove those of documents without one."""
    unsigned = [claim.document_id for claim, result in completed if not result.signature]
    await near_duplicates.forget(conn, unsigned)
    for claim, result in completed:
        if result.signature is not None:
            await near_duplicates.register(
                conn,
                claim.document_id,
                result.signature,
                tenant_id=claim.tenant_id,
                ingestion_id=claim.ingestion_id,
            )


async def _finished_before(conn: Conn, held: Sequence[Claim]) -> set[UUID]:
    cur = await conn.execute(
        """
        SELECT id
          FROM ingestion
          JOIN unnest(%(ids)s::uuid[], %(fences)s::bigint[]) AS claim (ingestion_id, fence)
            ON ingestion.id = claim.ingestion_id AND ingestion.fence = claim.fence
         WHERE status = 'completed'
        """,
        {"ids": [claim.ingestion_id for claim in held], "fences": [claim.fence for claim in held]},
    )
    return {row[0] for row in await cur.fetchall()}


async def lock_documents(conn: Conn, document_ids: Sequence[UUID]) -> None:
    """Lock documents before their ingestions, as intake does: the other order could be a circle."""
    await conn.execute(
        "SELECT FROM document WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE",
        {"ids": list(document_ids)},
    )


async def fail(conn: Conn, claim: Claim, error: DocmillError, *, receive_count: int = 0) -> bool:
    """End the ingestion with a dead letter; a person must look. False if the claim is lost.

    receive_count: of the message that led here. Asked again by who has not heard of the commit, it answers
    the same and changes nothing.
    """
    await lock_documents(conn, [claim.document_id])
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET status = 'failed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               lease_until = NULL,
               step = NULL,
               error_code = %(code)s,
               error_message = %(message)s,
               failed_step = coalesce(%(step)s, step)
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {
            "id": claim.ingestion_id,
            "fence": claim.fence,
            "code": error.code,
            "message": storable(error.message),
            "step": error.step,
        },
    )
    if cur.rowcount == 0:
        cur = await conn.execute(
            """
            SELECT FROM ingestion
             WHERE id = %(id)s AND fence = %(fence)s AND status = 'failed'
            """,
            {"id": claim.ingestion_id, "fence": claim.fence},
        )
        return cur.rowcount == 1
    await dead_letters.write(conn, claim.ingestion_id, receive_count=receive_count)
    return True


async def set_back(
    conn: Conn, claim: Claim, *, error: DocmillError | None, delay_s: float, counts: bool
) -> bool:
    """Let the ingestion be claimed again, to be tried after `delay_s`. False if the claim is lost.

    error: why, None when its worker stops. counts: whether this was an attempt. A transient error that does
    not count begins the time for which the document waits, unless that has begun before. Asked again by who
    has not heard of the commit, it answers the same and changes nothing, until another claims the ingestion.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET lease_until = NULL,
               fence = fence + 1,
               attempt_count = attempt_count - %(refund)s,
               next_attempt_at = clock_timestamp() + make_interval(secs => %(delay_s)s),
               waiting_since = CASE
                   WHEN %(waits)s THEN coalesce(waiting_since, clock_timestamp())
                   ELSE waiting_since
               END,
               progress_at = clock_timestamp(),
               step = NULL,
               error_code = coalesce(%(code)s, error_code),
               error_message = coalesce(%(message)s, error_message),
               failed_step = CASE
                   WHEN %(code)s::text IS NULL THEN failed_step
                   ELSE coalesce(%(step)s, step)
               END
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {
            "id": claim.ingestion_id,
            "fence": claim.fence,
            "refund": 0 if counts else 1,
            "delay_s": delay_s,
            "waits": isinstance(error, TransientError) and not counts,
            "code": error.code if error else None,
            "message": storable(error.message) if error else None,
            "step": error.step if error else None,
        },
    )
    if cur.rowcount == 1:
        return True
    # Set back before by its holder: others who end a claim forget its token.
    cur = await conn.execute(
        """
        SELECT FROM ingestion
         WHERE id = %(id)s
           AND fence = %(fence)s + 1
           AND claim_token = %(token)s
           AND lease_until IS NULL
           AND status = 'in-progress'
        """,
        {"id": claim.ingestion_id, "fence": claim.fence, "token": claim.token},
    )
    return cur.rowcount == 1


def key_of(claim: Claim) -> dict[str, Any]:
    """The key of a claim in the rows of a jsonb parameter."""
    return {
        "ingestion_id": str(claim.ingestion_id),
        "document_id": str(claim.document_id),
        "fence": claim.fence,
    }
