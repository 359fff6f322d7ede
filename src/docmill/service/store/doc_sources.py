"""Sources: where documents arrive by themselves, what their state is, and who watches them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from psycopg.errors import UniqueViolation
from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.errors import DocmillError, SetupError, ValidationError
from docmill.service.store import notifications
from docmill.service.store.database import Conn, storable
from docmill.service.store.notifications import Notification

State = Literal["active", "paused"]

_REPORT_AFTER_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """A source. settings, position: in the form of its kind. secrets: encrypted.

    version: counts the changes of settings and secrets. failures: in a row, since the last success; the next
    attempt is at next_attempt_at then. waits_until: for its limits. arrivals: what was taken; refusals: what
    could not be.
    """

    id: UUID
    tenant_id: UUID
    kind: str
    name: str
    settings: dict[str, Any]
    secrets: bytes | None = field(repr=False)
    version: int
    state: State
    position: Any
    failures: int
    failing_since: datetime | None
    waits_until: datetime | None
    next_attempt_at: datetime | None
    last_success_at: datetime | None
    last_error_at: datetime | None
    last_error_code: str | None
    last_error_message: str | None
    arrivals: int
    refusals: int
    created_by: UUID
    created_at: datetime
    removed_at: datetime | None


_ROWS: LiteralString = """
            SELECT id, tenant_id, kind, name, settings, secrets, version, state, position, failures,
                   failing_since, waits_until, next_attempt_at, last_success_at, last_error_at,
                   last_error_code, last_error_message, arrivals, refusals, created_by, created_at, removed_at
              FROM doc_source
"""


async def every(conn: Conn, *, with_removed: bool = False) -> list[SourceRow]:
    """The sources of the tenant by name."""
    async with conn.cursor(row_factory=class_row(SourceRow)) as cur:
        await cur.execute(
            _ROWS + " WHERE removed_at IS NULL OR %(with_removed)s ORDER BY lower(name), id",
            {"with_removed": with_removed},
        )
        return await cur.fetchall()


async def get(conn: Conn, source_id: UUID) -> SourceRow | None:
    """The source, also one that was removed; None if this tenant has none of that id."""
    async with conn.cursor(row_factory=class_row(SourceRow)) as cur:
        await cur.execute(_ROWS + " WHERE id = %(id)s", {"id": source_id})
        return await cur.fetchone()


async def by_name(conn: Conn, name: str) -> SourceRow | None:
    """The source of this name, in whatever case; None if there is none."""
    async with conn.cursor(row_factory=class_row(SourceRow)) as cur:
        await cur.execute(
            _ROWS + " WHERE lower(name) = lower(%(name)s) AND removed_at IS NULL", {"name": name}
        )
        return await cur.fetchone()


async def add(
    conn: Conn,
    *,
    source_id: UUID,
    tenant_id: UUID,
    kind: str,
    name: str,
    settings: Mapping[str, JsonValue],
    secrets: bytes | None,
    created_by: UUID,
) -> None:
    """Add a source, which is active. Raises ValidationError if another has the name."""
    try:
        await conn.execute(
            """
            INSERT INTO doc_source
                (id, tenant_id, kind, name, settings, secrets, created_by, responsible_id)
            VALUES (%(id)s, %(tenant_id)s, %(kind)s, %(name)s, %(settings)s, %(secrets)s, %(created_by)s,
                    %(created_by)s)
            """,
            {
                "id": source_id,
                "tenant_id": tenant_id,
                "kind": kind,
                "name": storable(name),
                "settings": Jsonb(settings),
                "secrets": secrets,
                "created_by": created_by,
            },
        )
    except UniqueViolation as error:
        raise _name_taken(name) from error


async def bind_to_key(conn: Conn, source_id: UUID, api_key_id: UUID) -> None:
    """Have a source end with the API key that made it."""
    await conn.execute(
        "UPDATE doc_source SET api_key_id = %(api_key_id)s WHERE id = %(id)s",
        {"id": source_id, "api_key_id": api_key_id},
    )


async def change(
    conn: Conn, source_id: UUID, *, name: str, settings: Mapping[str, JsonValue], secrets: bytes | None
) -> None:
    """Set name, settings and secrets; what watches the source begins again, at once.

    Raises ValidationError if another has the name.
    """
    try:
        await conn.execute(
            """
            UPDATE doc_source
               SET name = %(name)s, settings = %(settings)s, secrets = %(secrets)s,
                   version = version + 1, failures = 0, failing_since = NULL, reported_at = NULL,
                   next_attempt_at = NULL, waits_until = NULL
             WHERE id = %(id)s AND removed_at IS NULL
            """,
            {"id": source_id, "name": storable(name), "settings": Jsonb(settings), "secrets": secrets},
        )
    except UniqueViolation as error:
        raise _name_taken(name) from error


async def keep_secrets(conn: Conn, source_id: UUID, secrets: bytes | None, *, version: int) -> None:
    """Keep secrets that the other side has renewed, unless a person has changed the source meanwhile."""
    await conn.execute(
        """
        UPDATE doc_source
           SET secrets = %(secrets)s
         WHERE id = %(id)s AND version = %(version)s AND removed_at IS NULL
        """,
        {"id": source_id, "secrets": secrets, "version": version},
    )


def _name_taken(name: str) -> ValidationError:
    return ValidationError(f"there is a source {name!r} already; choose another name")


async def set_state(conn: Conn, source_id: UUID, state: State) -> bool:
    """Pause or resume a source; False if there is none. One that is resumed is tried at once."""
    cur = await conn.execute(
        """
        UPDATE doc_source
           SET state = %(state)s, failures = 0, failing_since = NULL, reported_at = NULL,
               next_attempt_at = NULL
         WHERE id = %(id)s AND removed_at IS NULL
        """,
        {"id": source_id, "state": state},
    )
    return cur.rowcount == 1


async def remove(conn: Conn, source_id: UUID) -> bool:
    """Remove a source with its secrets; False if there is none. What arrived from it stays."""
    cur = await conn.execute(
        """
        UPDATE doc_source
           SET removed_at = clock_timestamp(), state = 'paused', secrets = NULL
         WHERE id = %(id)s AND removed_at IS NULL
        """,
        {"id": source_id},
    )
    return cur.rowcount == 1


async def claim(
    conn: Conn, kinds: Sequence[str], *, worker_id: str, lease_s: float
) -> tuple[UUID, UUID] | None:
    """Take the source of any tenant that nobody watches and that has waited longest; its id and tenant."""
    cur = await conn.execute(
        """
        SELECT id, tenant_id
          FROM claim_source(%(kinds)s, %(worker_id)s, make_interval(secs => %(lease_s)s))
        """,
        {"kinds": list(kinds), "worker_id": worker_id, "lease_s": lease_s},
    )
    return await cur.fetchone()


async def count_unwatched(conn: Conn, kinds: Sequence[str]) -> int:
    """The number of sources of all tenants that could be watched now and are not."""
    cur = await conn.execute("SELECT unwatched_sources(%(kinds)s)", {"kinds": list(kinds)})
    (count,) = await cur.fetchone() or (0,)
    return count


async def tenant_of(conn: Conn, source_id: UUID) -> UUID | None:
    """The tenant of a source, for a request from outside that names the source alone."""
    cur = await conn.execute("SELECT tenant_of_source(%(id)s)", {"id": source_id})
    row = await cur.fetchone()
    return row[0] if row else None


async def of_token(conn: Conn, kinds: Sequence[str], token: str) -> tuple[UUID, UUID] | None:
    """The source of any tenant whose address has this token; its id and tenant."""
    cur = await conn.execute(
        "SELECT id, tenant_id FROM source_of_token(%(kinds)s, %(token)s)",
        {"kinds": list(kinds), "token": storable(token)},
    )
    return await cur.fetchone()


async def of_names(
    conn: Conn, kinds: Sequence[str], *, source_word: str, tenant_word: str
) -> tuple[UUID, UUID] | None:
    """The one source with a list of senders that is called so, of a tenant called so; its id and tenant.

    The names are in the form of `mail_addresses.word_of`. None if there are several.
    """
    cur = await conn.execute(
        "SELECT id, tenant_id FROM sources_of_names(%(kinds)s, %(source)s, %(tenant)s)",
        {"kinds": list(kinds), "source": storable(source_word), "tenant": storable(tenant_word)},
    )
    rows = await cur.fetchall()
    return rows[0] if len(rows) == 1 else None


async def watched(conn: Conn, source_ids: Sequence[UUID], *, worker_id: str) -> dict[UUID, int]:
    """Those of the sources that are still this worker's to watch, of any tenant, with their versions."""
    cur = await conn.execute(
        "SELECT id, version FROM watched_sources(%(worker_id)s, %(ids)s)",
        {"worker_id": worker_id, "ids": list(source_ids)},
    )
    return dict(await cur.fetchall())


async def hold(conn: Conn, source_ids: Sequence[UUID], *, worker_id: str, lease_s: float) -> None:
    """Hold sources of any tenant for longer, those that this worker still has."""
    await conn.execute(
        "SELECT hold_sources(%(worker_id)s, %(ids)s, make_interval(secs => %(lease_s)s))",
        {"worker_id": worker_id, "ids": list(source_ids), "lease_s": lease_s},
    )


async def release(conn: Conn, source_id: UUID, *, worker_id: str) -> None:
    """Let another worker take the source at once, if this one has it."""
    await conn.execute(
        """
        UPDATE doc_source
           SET lease_until = NULL, worker_id = NULL
         WHERE id = %(id)s AND worker_id = %(worker_id)s
        """,
        {"id": source_id, "worker_id": worker_id},
    )


async def keep_position(
    conn: Conn, source_id: UUID, position: JsonValue, *, version: int | None = None
) -> None:
    """Keep how far the source was read, unless it was changed or begun again since it had this version."""
    await conn.execute(
        """
        UPDATE doc_source
           SET position = %(position)s
         WHERE id = %(id)s AND (%(version)s::integer IS NULL OR version = %(version)s)
        """,
        {"id": source_id, "position": Jsonb(position), "version": version},
    )


async def note_success(conn: Conn, source_id: UUID) -> None:
    """Note that the source answers, or was heard of."""
    await conn.execute(
        """
        UPDATE doc_source
           SET last_success_at = clock_timestamp(), failures = 0, failing_since = NULL, reported_at = NULL,
               next_attempt_at = NULL
         WHERE id = %(id)s
        """,
        {"id": source_id},
    )


async def note_failure(conn: Conn, source_id: UUID, error: DocmillError, *, retry_s: float | None) -> None:
    """Note why the source does not answer. retry_s: after which it is tried again; None if it goes on.

    People are told once of each time that it fails: at once of what they must change, and of all else when
    nothing has worked for a quarter of an hour.
    """
    cur = await conn.execute(
        """
        UPDATE doc_source
           SET last_error_at = clock_timestamp(),
               last_error_code = %(code)s,
               last_error_message = %(message)s,
               failures = failures + 1,
               failing_since = coalesce(failing_since, clock_timestamp()),
               next_attempt_at = clock_timestamp() + make_interval(secs => %(retry_s)s)
         WHERE id = %(id)s
        RETURNING tenant_id, name, reported_at IS NULL AND removed_at IS NULL
                  AND (%(at_once)s OR failing_since < clock_timestamp() - make_interval(secs => %(after_s)s))
        """,
        {
            "id": source_id,
            "code": error.code,
            "message": storable(error.message),
            "retry_s": retry_s,
            "at_once": isinstance(error, SetupError),
            "after_s": _REPORT_AFTER_S,
        },
    )
    row = await cur.fetchone()
    if row is None or not row[2]:
        return
    tenant_id, name, _ = row
    await conn.execute(
        "UPDATE doc_source SET reported_at = clock_timestamp() WHERE id = %(id)s", {"id": source_id}
    )
    sentence = f"the source {name!r}: {error.message}"
    link = f"/settings/sources/{source_id}"
    await notifications.add(conn, Notification("source_failed", tenant_id, None, sentence, link=link))


async def note_wait(conn: Conn, source_id: UUID, *, wait_s: float | None) -> None:
    """Note that the source waits for its limits; None if it does not any more."""
    await conn.execute(
        """
        UPDATE doc_source
           SET waits_until = clock_timestamp() + make_interval(secs => %(wait_s)s)
         WHERE id = %(id)s
        """,
        {"id": source_id, "wait_s": wait_s},
    )


async def begin_again(conn: Conn, source_id: UUID, *, from_start: bool) -> None:
    """Have what watches the source begin again. from_start: without its position."""
    await conn.execute(
        """
        UPDATE doc_source
           SET version = version + 1,
               next_attempt_at = NULL,
               position = CASE WHEN %(from_start)s THEN NULL ELSE position END
         WHERE id = %(id)s
        """,
        {"id": source_id, "from_start": from_start},
    )


@dataclass(frozen=True, slots=True)
class SourceCount:
    """Numbers of the sources of a kind, of all tenants. taken, refused: items, since the beginning.

    waiting: for their turn to be watched, among those that are active and do not fail.
    """

    kind: str
    active: int
    failing: int
    waiting: int
    taken: int
    refused: int


async def count_by_kind(conn: Conn) -> list[SourceCount]:
    """Numbers of all tenants' sources."""
    async with conn.cursor(row_factory=class_row(SourceCount)) as cur:
        await cur.execute("SELECT kind, active, failing, waiting, taken, refused FROM sources_by_kind()")
        return await cur.fetchall()
