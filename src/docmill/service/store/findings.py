"""What is known of a document before its ingestion ends: stored early, so that no failure loses it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypedDict, cast

from docmill.service.store.claims import Claim, key_of, lock_documents
from docmill.service.store.database import Conn
from docmill.service.store.storable import dumped


class StoredFindings(TypedDict, total=False):
    """What an ingestion has found out so far, ready to be stored; what is not known yet is absent or None.

    structured_data to reason: of a result that counts until a model that failed was asked again.
    input_tokens and what follows: what all attempts have cost so far.
    """

    media_type: str | None
    page_count: int | None
    text: str | None
    quality: float | None
    transcription_file_path: str | None
    preprocessed_file_path: str | None
    language: str | None
    classification: dict[str, Any] | None
    structured_data: dict[str, Any] | None
    evidence: dict[str, Any] | None
    verdict: dict[str, Any] | None
    valid_structured_data: bool | None
    reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    model: str | None
    cost: Decimal | None


def updated(known: StoredFindings, newer: StoredFindings) -> StoredFindings:
    """What is known with what `newer` knows. A plain dictionary: every document pays for this a few times."""
    known_now = {name: value for name, value in newer.items() if value is not None}
    return cast("StoredFindings", {**known, **known_now})


async def store(conn: Conn, found: Sequence[tuple[Claim, StoredFindings]]) -> None:
    """Store what is known of one tenant's documents so far; nothing where the claim is lost.

    A document shows it until one of its ingestions that has read it completes: then that one's result counts,
    as a whole. Triggers copy classification and values, which is no change by a person.
    """
    await lock_documents(conn, [claim.document_id for claim, _ in found])
    rows = await dumped([key_of(claim) | findings for claim, findings in found])
    await conn.execute(
        """
        WITH known AS (
            SELECT *
              FROM jsonb_to_recordset(%(rows)s) AS known (
                       ingestion_id uuid, fence bigint, media_type text, page_count integer, text text,
                       quality double precision, transcription_file_path text, preprocessed_file_path text,
                       language text, classification jsonb, structured_data jsonb, evidence jsonb,
                       verdict jsonb, valid_structured_data boolean, reason text, input_tokens bigint,
                       output_tokens bigint, model text, cost numeric
                   )
        ),
        held AS (
            UPDATE ingestion
               SET transcription_file_path =
                       coalesce(known.transcription_file_path, ingestion.transcription_file_path),
                   preprocessed_file_path =
                       coalesce(known.preprocessed_file_path, ingestion.preprocessed_file_path),
                   transcription_quality_score = coalesce(known.quality, transcription_quality_score),
                   classification = coalesce(known.classification, ingestion.classification),
                   structured_data = coalesce(known.structured_data, ingestion.structured_data),
                   evidence = coalesce(known.evidence, ingestion.evidence),
                   verdict = coalesce(known.verdict, ingestion.verdict),
                   valid_structured_data =
                       coalesce(known.valid_structured_data, ingestion.valid_structured_data),
                   extraction_reason = coalesce(known.reason, extraction_reason),
                   extraction_input_tokens = coalesce(known.input_tokens, extraction_input_tokens),
                   extraction_output_tokens = coalesce(known.output_tokens, extraction_output_tokens),
                   extraction_model = coalesce(known.model, extraction_model),
                   cost = coalesce(known.cost, ingestion.cost)
              FROM known
             WHERE ingestion.id = known.ingestion_id
               AND ingestion.fence = known.fence
               AND status = 'in-progress'
            RETURNING ingestion.id, document_id
        )
        UPDATE document
           SET media_type = coalesce(known.media_type, document.media_type),
               page_count = coalesce(known.page_count, document.page_count),
               text = coalesce(known.text, document.text),
               language = coalesce(known.language, document.language),
               updated_at = clock_timestamp()
          FROM held
          JOIN known ON known.ingestion_id = held.id
         WHERE document.id = held.document_id
           AND NOT EXISTS (
               SELECT FROM ingestion done
                WHERE done.document_id = document.id
                  AND done.status = 'completed'
                  AND done.transcription_file_path IS NOT NULL
           )
        """,
        {"rows": rows},
    )
