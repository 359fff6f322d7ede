"""Stores findings about a document before its ingestion ends, so that no failure loses them."""

from collections.abc import Sequence

from docmill.service.store import result_columns
from docmill.service.store.claims import Claim, key_of, lock_documents
from docmill.service.store.database import Conn, to_jsonb
from docmill.service.store.result_columns import StoredFindings


async def store(conn: Conn, entries: Sequence[tuple[Claim, StoredFindings]]) -> None:
    """Store findings about one tenant's documents; nothing where the claim is lost.

    A document shows it until one of its ingestions that has read it completes: then that one's result counts,
    as a whole. Triggers copy classification and values, which is no change by a person.
    """
    await lock_documents(conn, [claim.document_id for claim, _ in entries])
    rows = await to_jsonb([key_of(claim) | findings.known_values() for claim, findings in entries])
    await conn.execute(
        f"""
        WITH known AS (
            SELECT *
              FROM jsonb_to_recordset(%(rows)s) AS known (
                       ingestion_id uuid, fence bigint, {result_columns.DEFINITIONS},
                       media_type text, page_count integer, text text, language text
                   )
        ),
        held AS (
            UPDATE ingestion
               SET {result_columns.KNOWN_ASSIGNMENTS}
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
        """,  # noqa: S608  the names of columns are our own
        {"rows": rows},
    )
