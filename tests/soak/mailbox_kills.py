"""Mails arrive while the process that takes them is killed again and again; each must be taken once.

A mail that was taken is moved, so that a kill also falls between its filing and what is done afterwards.
Ends with 1 if a mail was lost or taken twice.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from faults.processes import TESTS
from faults.server import KillableServer
from soak.nemesis import say
from support.dovecot import PASSWORD, Dovecot, running_dovecot
from support.mails import mail

_PATIENCE_S = 120.0
_LEASE_S = 1.0
_LONGEST_LIFE_S = 0.4
"""From the first mail that a process has taken until it is killed."""


@dataclass(frozen=True, slots=True)
class MailCounts:
    """Counts after the last process had time to end its work. left: mails in the inbox."""

    mails: int
    kills: int
    lost: int
    twice: int
    refused: int
    left: int
    again: int
    """Mails that a kill had left in the inbox although they were filed; they were known, and moved."""
    seconds: float


def watcher_settings(data_dir: Path, database_url: str) -> dict[str, Any]:
    """Settings of a process that watches the sources of a service, as plain values."""
    return {
        "data_dir": str(data_dir),
        "database_url": database_url,
        "sources": {"allow_private_addresses": True, "lease_s": _LEASE_S},
        "secrets": {"key": "k" * 64},
    }


async def take_under_kills(
    service: Service,
    dovecot: Dovecot,
    mails: Sequence[bytes],
    *,
    settings: dict[str, Any],
    kills: int,
    seed: int = 1,
) -> MailCounts:
    """Have mails arrive in so many portions, and kill the process that takes them in each."""
    began, chance = time.monotonic(), Random(seed)  # noqa: S311  a dice
    dovecot.deliver("anna", [])
    row = await _add_mailbox(service, dovecot)
    moved_late = 0
    for number in range(kills):
        portion = mails[number * len(mails) // kills : (number + 1) * len(mails) // kills]
        async with _process(settings) as process:
            await asyncio.to_thread(dovecot.drop, "anna", portion)
            before = await _arrivals(service, row)
            # Some are killed before they have taken anything, others at some moment after their first mail.
            if chance.random() < 0.8:
                await _until(service, row, lambda now, before=before: now > before, process)
            await asyncio.sleep(chance.random() * _LONGEST_LIFE_S)
            process.kill()
        filed = await _arrivals(service, row)
        moved = len(await asyncio.to_thread(dovecot.uids, "anna", "Done")) if filed else 0
        moved_late += max(0, filed - moved)
    async with _process(settings) as process:
        await _until(service, row, lambda now: now >= len(mails), process)
        await _until_empty(dovecot)
        process.kill()
    lost, twice, refused = await _losses(service, row, len(mails))
    left = len(dovecot.uids("anna"))
    return MailCounts(len(mails), kills, lost, twice, refused, left, moved_late, time.monotonic() - began)


async def _add_mailbox(service: Service, dovecot: Dovecot) -> SourceRow:
    with dovecot.client("anna") as client:
        client.select()
        client.create("Done")
    return await service.sources.add(
        "imap",
        "Mails under kills",
        {
            "host": "127.0.0.1",
            "port": dovecot.port,
            "security": "none",
            "user": "anna",
            "afterwards": "move",
            "move_to": "Done",
        },
        {"password": PASSWORD},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


@asynccontextmanager
async def _process(settings: dict[str, Any]) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "soak.mailbox_process",
        json.dumps(settings),
        stdout=PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])},
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _arrivals(service: Service, row: SourceRow) -> int:
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    return current.arrivals + current.refusals


async def _until(service: Service, row: SourceRow, is_so: Callable[[int], bool], process: Process) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not is_so(await _arrivals(service, row)):
            assert process.returncode is None, "the process ended by itself"
            await asyncio.sleep(0.002)


async def _until_empty(dovecot: Dovecot) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while await asyncio.to_thread(dovecot.uids, "anna"):  # noqa: ASYNC110  of another program
            await asyncio.sleep(0.1)


async def _losses(service: Service, row: SourceRow, mails: int) -> tuple[int, int, int]:
    """Mails lost and taken twice, by what the database holds; and those that were refused."""
    async with service.database.tenant(row.tenant_id) as conn:
        cur = await conn.execute(
            """
            SELECT count(*) FILTER (WHERE error_code IS NULL), count(DISTINCT document_id),
                   count(*) FILTER (WHERE error_code IS NOT NULL),
                   (SELECT count(*) FROM document),
                   (SELECT count(*) FROM ingestion)
              FROM arrival
             WHERE doc_source_id = %(id)s
            """,
            {"id": row.id},
        )
        taken, distinct, refused, documents, begun = await cur.fetchone() or (0, 0, 0, 0, 0)
    queued = (await service.queue.depth()).due
    most = max(taken, documents, begun, queued)
    return max(0, mails - distinct - refused), most - distinct, refused


def main() -> int:
    """Kill as often as asked; the exit code."""
    parser = argparse.ArgumentParser(prog="mailbox_kills", description=__doc__)
    parser.add_argument("--mails", type=int, default=200, help="made-up mails")
    parser.add_argument("--folder", type=Path, help="of further mails (*.eml), with all folders in it")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    further = {
        path.read_bytes().replace(b"\r\n", b"\n"): None
        for path in sorted(options.folder.rglob("*.eml") if options.folder else ())
    }
    mails = [mail(number, attachment="bill.pdf") for number in range(options.mails)] + list(further)
    Random(options.seed).shuffle(mails)  # noqa: S311  a dice
    counts = asyncio.run(_run(mails, options.kills, options.seed))
    say(str(counts))
    return 1 if counts.lost or counts.twice or counts.left else 0


async def _run(mails: Sequence[bytes], kills: int, seed: int) -> MailCounts:
    with tempfile.TemporaryDirectory(prefix="docmill-") as name, running_dovecot() as dovecot:
        folder = Path(name)
        server = KillableServer(folder / "postgres")
        await asyncio.to_thread(server.start)
        try:
            settings = watcher_settings(folder / "data", server.url)
            async with open_service(Settings(**settings)) as service:
                return await take_under_kills(
                    service, dovecot, mails, settings=settings, kills=kills, seed=seed
                )
        finally:
            await asyncio.to_thread(server.stop)


if __name__ == "__main__":
    sys.exit(main())
