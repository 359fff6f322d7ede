"""Archive serial numbers of documents: no two documents of a tenant have the same, also in the bin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.model.result import Failure
from docmill.service.store.bin import showing_bin
from docmill.service.store.database import Conn

CHECK = "archive_serial_number"


@dataclass(frozen=True, slots=True)
class NumberHolder:
    """The document that has a number. is_set: by a person."""

    id: UUID
    name: str
    is_deleted: bool
    is_set: bool

    @property
    def place(self) -> str:
        """Its name, and whether it is in the bin."""
        return f"“{self.name}” in the bin" if self.is_deleted else f"“{self.name}”"


@dataclass(frozen=True, slots=True)
class ReadNumbers:
    """The numbers on labels of a document, as the result of `ingestion_id` has them. verdict: of that."""

    document_id: UUID
    ingestion_id: UUID
    numbers: Sequence[int]
    verdict: dict[str, Any] | None


async def lock_documents(conn: Conn, document_ids: Sequence[UUID], *, labelled: Sequence[UUID]) -> None:
    """Keep documents for this transaction, in one order: before their ingestions, and before `lock`.

    labelled: those that `file_read` may give a number, which may be that of the file they were split from,
    also one in the bin; that file is kept, too.
    """
    async with showing_bin(conn):
        await conn.execute(
            """
            SELECT FROM document
             WHERE id IN (SELECT unnest(%(ids)s::uuid[])
                           UNION
                          SELECT parent_id FROM part
                           WHERE child_id = ANY(%(labelled)s::uuid[]) AND kind = 'section')
             ORDER BY id
               FOR NO KEY UPDATE
            """,
            {"ids": list(document_ids), "labelled": list(labelled)},
        )


async def lock(conn: Conn, tenant_id: UUID) -> None:
    """Keep the numbers of the tenant for this transaction. The caller has locked its documents before."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('serial numbers of ' || %(tenant_id)s::text, 0))",
        {"tenant_id": tenant_id},
    )


async def holder(conn: Conn, number: int, *, besides: UUID) -> NumberHolder | None:
    """The document that has the number; None if there is none besides the given one."""
    async with showing_bin(conn), conn.cursor(row_factory=class_row(NumberHolder)) as cur:
        await cur.execute(
            """
            SELECT id, coalesce(title, file_name) AS name, deleted_at IS NOT NULL AS is_deleted,
                   EXISTS (SELECT FROM current_review
                            WHERE document_id = document.id AND path = ':archive_serial_number') AS is_set
              FROM document
             WHERE archive_serial_number = %(number)s AND id <> %(besides)s
            """,
            {"number": number, "besides": besides},
        )
        return await cur.fetchone()


async def next_number(conn: Conn) -> int:
    """The number after the highest one."""
    async with showing_bin(conn):
        cur = await conn.execute("SELECT coalesce(max(archive_serial_number), 0) + 1 FROM document")
        (number,) = await cur.fetchone() or (1,)
    return number


async def give(conn: Conn, document_id: UUID, number: int | None) -> None:
    """Give the document a number that no other has, or none."""
    await conn.execute(
        """
        UPDATE document
           SET archive_serial_number = %(number)s, updated_at = clock_timestamp()
         WHERE id = %(document_id)s AND archive_serial_number IS DISTINCT FROM %(number)s
        """,
        {"document_id": document_id, "number": number},
    )


async def file_read(conn: Conn, read: ReadNumbers, *, tenant_id: UUID) -> None:
    """Give the document the number of its label, unless a person has said which one it has.

    A number that another document has stays there; a person is asked then, and where labels have several. A
    file that is split keeps no number that one of its sections has. A reading that finds no label takes no
    number away. The caller has locked the document by `lock_documents`.
    """
    if not read.numbers or not await _counts(conn, read):
        return
    await lock(conn, tenant_id)
    question, number = None, read.numbers[0]
    other = await holder(conn, number, besides=read.document_id)
    if len(read.numbers) > 1:
        listed = ", ".join(map(str, sorted(read.numbers)))
        question = (
            f"Its labels have several archive serial numbers ({listed}), so that it has none of them: "
            "give it one, or split the file."
        )
    elif other is not None and not other.is_set and await _is_section(conn, read.document_id, other.id):
        async with showing_bin(conn):
            await give(conn, other.id, None)
    elif other is not None:
        question = (
            f"Its label has the archive serial number {number}, which {other.place} has already, so that it "
            "has none: give it another one, or take the number away there."
        )
    await give(conn, read.document_id, None if question else number)
    await _store_question(conn, read, question)


async def settle(conn: Conn, document_id: UUID) -> None:
    """Have nobody look at a document without values because of its number: a person has said which it has.

    Where its result has other faults, or a later reading has failed, people look at it still.
    """
    await conn.execute(
        """
        UPDATE document SET needs_human_review = false, updated_at = clock_timestamp()
          FROM ingestion result
         WHERE document.id = %(document_id)s
           AND document.structured_data IS NULL
           AND needs_human_review
           AND result.id = result_ingestion_id
           AND NOT EXISTS (SELECT FROM jsonb_array_elements(result.verdict -> 'failures') AS failure
                            WHERE failure ->> 'check' <> %(check)s)
           AND NOT EXISTS (SELECT FROM ingestion later
                            WHERE later.document_id = document.id
                              AND later.ordinal > result.ordinal
                              AND later.status = 'failed')
        """,
        {"document_id": document_id, "check": CHECK},
    )


async def _counts(conn: Conn, read: ReadNumbers) -> bool:
    """True if the document has this result, and no person has said which number it has."""
    cur = await conn.execute(
        """
        SELECT FROM document
         WHERE id = %(document_id)s AND result_ingestion_id = %(ingestion_id)s
           AND NOT EXISTS (SELECT FROM current_review
                            WHERE document_id = document.id AND path = ':archive_serial_number')
        """,
        {"document_id": read.document_id, "ingestion_id": read.ingestion_id},
    )
    return cur.rowcount == 1


async def _is_section(conn: Conn, document_id: UUID, whole_id: UUID) -> bool:
    cur = await conn.execute(
        """
        SELECT FROM part WHERE child_id = %(document_id)s AND parent_id = %(whole_id)s AND kind = 'section'
        """,
        {"document_id": document_id, "whole_id": whole_id},
    )
    return cur.rowcount > 0


async def _store_question(conn: Conn, read: ReadNumbers, question: str | None) -> None:
    """Have a person look at the document, or take an earlier question back."""
    failures: list[dict[str, Any]] = (read.verdict or {}).get("failures", [])
    left = [failure for failure in failures if failure["check"] != CHECK]
    if question is not None:
        left.append(Failure(check=CHECK, message=question).model_dump(mode="json"))
    elif len(left) == len(failures):
        return
    await conn.execute(
        """
        UPDATE ingestion SET verdict = %(verdict)s, valid_structured_data = %(is_valid)s
         WHERE id = %(ingestion_id)s
        """,
        {
            "ingestion_id": read.ingestion_id,
            "verdict": Jsonb({**(read.verdict or {}), "failures": left}),
            "is_valid": not left,
        },
    )
    if question is not None:
        await conn.execute(
            """
            UPDATE document SET needs_human_review = true, updated_at = clock_timestamp()
             WHERE id = %(document_id)s AND NOT needs_human_review
            """,
            {"document_id": read.document_id},
        )
