"""The statements of `store/claims.py` decide as the predicates of `support/claim_predicates.py` do."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docmill.errors import CrashedError, ServerError
from docmill.service.protocol.claim_rules import Obstacle
from docmill.service.store import claims
from docmill.service.store.claims import Claim
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Conn, Database, new_id
from support import claim_predicates
from support.scripted_steps import NO_RESULT

MAX_ATTEMPTS = 3
LEASE_S = 300
NOW = 0
# Seconds from now, far enough that a slow machine does not cross them.
TIMES = st.sampled_from([None, -86_400, -1, 3_600, 86_400])


@dataclass(frozen=True)
class Row:
    status: str
    fence: int
    attempt_count: int
    deaths: int
    lease_until: int | None
    next_attempt_at: int | None


ROWS = st.builds(
    Row,
    status=st.sampled_from(["in-progress", "in-progress", "completed", "failed"]),
    fence=st.integers(0, 5),
    attempt_count=st.integers(1, MAX_ATTEMPTS + 2),
    deaths=st.integers(0, MAX_ATTEMPTS + 2),
    lease_until=TIMES,
    next_attempt_at=TIMES,
)


@given(row=ROWS, fence=st.integers(0, 5), alone=st.booleans())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_statements_decide_as_the_predicates_do(
    database_url: str, row: Row, fence: int, *, alone: bool
) -> None:
    async with (
        Database(database_url, max_connections=1) as database,
        database.tenant(DEFAULT_TENANT_ID) as conn,
    ):
        ingestion_id, document_id = await _stored(conn, row)
        claim = Claim(ingestion_id, DEFAULT_TENANT_ID, document_id, fence, 1, "path", "name")
        holds = claim_predicates.holds(row, fence)

        async with _undone(conn):
            taken = await _take(conn, ingestion_id, alone=alone)
            assert bool(taken) == claim_predicates.may_claim(row, NOW, MAX_ATTEMPTS, alone=alone)
            deaths = claim_predicates.deaths_of(row, NOW)
            for new in taken:
                assert (new.fence, new.attempt) == (row.fence + 1, claim_predicates.attempts_of(row, NOW) + 1)
                assert await _obstacle(conn, ingestion_id) == Obstacle(
                    "in-progress", LEASE_S, new.attempt >= MAX_ATTEMPTS, suspect=deaths > 0
                )
        assert await _obstacle(conn, ingestion_id) == claim_predicates.obstacle_of(row, NOW, MAX_ATTEMPTS)
        async with _undone(conn):
            assert await claims.extend(conn, claim, lease_s=LEASE_S, step=None) == holds
        async with _undone(conn):
            finishes = holds or claim_predicates.has_completed(row, fence)
            assert await claims.finish(conn, [(claim, NO_RESULT)]) == ({ingestion_id} if finishes else set())
            assert (await _status(conn, ingestion_id) == "completed") == (holds or row.status == "completed")
        async with _undone(conn):
            fails = holds or claim_predicates.has_failed(row, fence)
            assert await claims.fail(conn, claim, ServerError("down")) == fails
        async with _undone(conn):
            assert await claims.set_back(conn, claim, error=None, delay_s=60, counts=False) == holds
            if holds:
                assert not await claims.extend(conn, claim, lease_s=LEASE_S, step=None)
                assert (await _obstacle(conn, ingestion_id)).wait_s == 60
        async with _undone(conn):
            given_up = await claims.give_up(
                conn, ingestion_id, max_attempts=MAX_ATTEMPTS, error=CrashedError("crashed")
            )
            assert given_up == claim_predicates.may_give_up(row, NOW, MAX_ATTEMPTS)


@asynccontextmanager
async def _undone(conn: Conn) -> AsyncGenerator[None]:
    """Takes back what the block did."""
    async with conn.transaction(force_rollback=True):
        yield


async def _stored(conn: Conn, row: Row) -> tuple[UUID, UUID]:
    ingestion_id, document_id = new_id(), new_id()
    await conn.execute(
        """
        INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
        VALUES (%s, %s, %s, 1, 'bill.pdf', 'path')
        """,
        [document_id, DEFAULT_TENANT_ID, hashlib.sha256(document_id.bytes).hexdigest()],
    )
    await conn.execute(
        """
        INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, fence, attempt_count,
                               deaths, completed_at, lease_until, next_attempt_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s::timestamptz,
                clock_timestamp() + make_interval(secs => %s),
                clock_timestamp() + make_interval(secs => %s))
        """,
        [
            ingestion_id,
            DEFAULT_TENANT_ID,
            document_id,
            DEFAULT_USER_ID,
            row.status,
            row.fence,
            row.attempt_count,
            row.deaths,
            None if row.status == "in-progress" else "2026-01-01",
            row.lease_until,
            row.next_attempt_at,
        ],
    )
    return ingestion_id, document_id


async def _take(conn: Conn, ingestion_id: UUID, *, alone: bool) -> list[Claim]:
    return await claims.take(
        conn, [ingestion_id], worker_id="one", lease_s=LEASE_S, max_attempts=MAX_ATTEMPTS, alone=alone
    )


async def _obstacle(conn: Conn, ingestion_id: UUID) -> Obstacle:
    """With the time to wait in whole seconds."""
    found = (await claims.obstacles(conn, [ingestion_id], max_attempts=MAX_ATTEMPTS))[ingestion_id]
    return Obstacle(found.status, _rounded(found.wait_s), found.attempts_used_up, found.suspect)


def _rounded(seconds: float) -> float:
    """Up to the next full minute: the test itself may take some seconds."""
    return -(-seconds // 60) * 60


async def _status(conn: Conn, ingestion_id: UUID) -> str:
    cur = await conn.execute("SELECT status FROM ingestion WHERE id = %s", [ingestion_id])
    row = await cur.fetchone()
    assert row is not None
    return row[0]
