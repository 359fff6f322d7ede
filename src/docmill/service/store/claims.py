"""A worker's hold on an ingestion. Every write names its fence: who lost the hold writes nothing."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.errors import DocmillError
from docmill.service.protocol import Obstacle
from docmill.service.store import dead_letters
from docmill.service.store.database import Conn

Text = TypeVar("Text", str, str | None)


@dataclass(frozen=True, slots=True)
class Claim:
    """An ingestion that a worker holds, and the file to be processed.

    fence: grows with every claim and every end of one. attempt: from 1.
    """

    ingestion_id: UUID
    tenant_id: UUID
    document_id: UUID
    fence: int
    attempt: int
    file_path: str
    file_name: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a completed ingestion found out, ready to be stored."""

    media_type: str
    classification: dict[str, Any]
    structured_data: dict[str, Any] | None
    evidence: dict[str, Any] | None
    verdict: dict[str, Any] | None
    valid_structured_data: bool | None
    text: str | None
    page_count: int | None
    quality: float | None
    transcription_file_path: str | None
    input_tokens: int | None
    output_tokens: int | None
    model: str | None
    cost: Decimal | None
    pipeline_fingerprint: str
    error_code: str | None
    error_message: str | None


async def tenant_of(conn: Conn, ingestion_id: UUID) -> UUID | None:
    """Whose ingestion this is. The one question that may be asked across tenants."""
    cur = await conn.execute("SELECT tenant_of_ingestion(%(id)s)", {"id": ingestion_id})
    row = await cur.fetchone()
    return row[0] if row else None


async def take(
    conn: Conn, ingestion_id: UUID, *, worker_id: str, lease_s: float, max_attempts: int
) -> Claim | None:
    """The claim, or None if the ingestion is not to be had.

    The attempt is counted here and not at its end, so that a document that kills its worker cannot do so for
    ever.
    """
    async with conn.cursor(row_factory=class_row(Claim)) as cur:
        await cur.execute(
            """
            UPDATE ingestion
               SET started_at = clock_timestamp(),
                   lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
                   worker_id = %(worker_id)s,
                   fence = fence + 1,
                   attempt_count = attempt_count + 1,
                   next_attempt_at = NULL,
                   step = 'claim',
                   progress_at = clock_timestamp()
              FROM document
             WHERE ingestion.id = %(id)s
               AND document.id = ingestion.document_id
               AND status = 'in-progress'
               AND attempt_count < %(max_attempts)s
               AND (lease_until IS NULL OR lease_until <= clock_timestamp())
            RETURNING ingestion.id AS ingestion_id, ingestion.tenant_id, document_id, fence,
                      attempt_count AS attempt, file_path, file_name
            """,
            {"id": ingestion_id, "worker_id": worker_id, "lease_s": lease_s, "max_attempts": max_attempts},
        )
        return await cur.fetchone()


async def obstacle(conn: Conn, ingestion_id: UUID, *, max_attempts: int) -> Obstacle | None:
    """Why it could not be claimed; None if it does not exist."""
    async with conn.cursor(row_factory=class_row(Obstacle)) as cur:
        await cur.execute(
            """
            SELECT status,
                   greatest(coalesce(extract(epoch FROM lease_until - clock_timestamp()), 0), 0)::float8
                       AS lease_left_s,
                   attempt_count >= %(max_attempts)s AS attempts_used_up
              FROM ingestion
             WHERE id = %(id)s
            """,
            {"id": ingestion_id, "max_attempts": max_attempts},
        )
        return await cur.fetchone()


async def give_up(
    conn: Conn, ingestion_id: UUID, *, max_attempts: int, error: DocmillError, receive_count: int = 0
) -> bool:
    """Fail an ingestion all of whose attempts ended with their worker. False if it is not like that.

    receive_count: of the message that led here, for the dead letter.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET status = 'failed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               fence = fence + 1,
               lease_until = NULL,
               failed_step = step,
               step = NULL,
               error_code = %(code)s,
               error_message = %(message)s
         WHERE id = %(id)s
           AND status = 'in-progress'
           AND attempt_count >= %(max_attempts)s
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


async def extend(conn: Conn, claim: Claim, *, lease_s: float) -> bool:
    """Hold on for `lease_s` from now. False if the claim is lost."""
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {"id": claim.ingestion_id, "fence": claim.fence, "lease_s": lease_s},
    )
    return cur.rowcount == 1


async def progress(conn: Conn, claim: Claim, step: str) -> bool:
    """Note that `step` begins. False if the claim is lost."""
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET step = %(step)s, progress_at = clock_timestamp()
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {"id": claim.ingestion_id, "fence": claim.fence, "step": step},
    )
    return cur.rowcount == 1


async def finish(conn: Conn, claim: Claim, outcome: Outcome) -> bool:
    """Complete the ingestion; a trigger copies its result to the document. False if the claim is lost."""
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET status = 'completed',
               completed_at = clock_timestamp(),
               progress_at = clock_timestamp(),
               lease_until = NULL,
               step = NULL,
               failed_step = NULL,
               classification = %(classification)s,
               structured_data = %(structured_data)s,
               evidence = %(evidence)s,
               verdict = %(verdict)s,
               valid_structured_data = %(valid)s,
               transcription_file_path = %(transcription_file_path)s,
               transcription_quality_score = %(quality)s,
               extraction_input_tokens = %(input_tokens)s,
               extraction_output_tokens = %(output_tokens)s,
               extraction_model = %(model)s,
               cost = %(cost)s,
               pipeline_fingerprint = %(pipeline_fingerprint)s,
               error_code = %(error_code)s,
               error_message = %(error_message)s
         WHERE id = %(id)s AND fence = %(fence)s AND status = 'in-progress'
        """,
        {
            "id": claim.ingestion_id,
            "fence": claim.fence,
            "classification": _json(outcome.classification),
            "structured_data": _json(outcome.structured_data),
            "evidence": _json(outcome.evidence),
            "verdict": _json(outcome.verdict),
            "valid": outcome.valid_structured_data,
            "transcription_file_path": outcome.transcription_file_path,
            "quality": outcome.quality,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "model": outcome.model,
            "cost": outcome.cost,
            "pipeline_fingerprint": outcome.pipeline_fingerprint,
            "error_code": outcome.error_code,
            "error_message": storable(outcome.error_message),
        },
    )
    if cur.rowcount == 0:
        return False
    await _copy_text(conn, claim, outcome)
    return True


async def _copy_text(conn: Conn, claim: Claim, outcome: Outcome) -> None:
    """The text goes to the document only: it is large, and an older result must not replace a newer one's."""
    await conn.execute(
        """
        UPDATE document
           SET text = %(text)s, page_count = %(page_count)s, media_type = %(media_type)s
         WHERE id = %(document_id)s AND result_ingestion_id = %(ingestion_id)s
        """,
        {
            "document_id": claim.document_id,
            "ingestion_id": claim.ingestion_id,
            "text": storable(outcome.text),
            "page_count": outcome.page_count,
            "media_type": outcome.media_type,
        },
    )


async def fail(conn: Conn, claim: Claim, error: DocmillError, *, receive_count: int = 0) -> bool:
    """End the ingestion with a dead letter; a person must look. False if the claim is lost.

    receive_count: of the message that led here.
    """
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
        return False
    await dead_letters.write(conn, claim.ingestion_id, receive_count=receive_count)
    return True


async def set_back(
    conn: Conn, claim: Claim, *, error: DocmillError | None, delay_s: float, counts: bool
) -> bool:
    """Let the ingestion be claimed again, to be tried after `delay_s`. False if the claim is lost.

    error: why, None when its worker stops. counts: whether this was an attempt.
    """
    cur = await conn.execute(
        """
        UPDATE ingestion
           SET lease_until = NULL,
               fence = fence + 1,
               attempt_count = attempt_count - %(refund)s,
               next_attempt_at = clock_timestamp() + make_interval(secs => %(delay_s)s),
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
            "code": error.code if error else None,
            "message": storable(error.message) if error else None,
            "step": error.step if error else None,
        },
    )
    return cur.rowcount == 1


def storable(text: Text) -> Text:
    """`text` as PostgreSQL takes it: without NUL and halves of characters, both of which files contain."""
    if text is None:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _json(value: dict[str, Any] | None) -> Jsonb | None:
    return None if value is None else Jsonb(_storable_values(value))


def _storable_values(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): _storable_values(item) for key, item in value.items()}
        case list():
            return [_storable_values(item) for item in value]
        case _:
            return value
