"""Measure how fast mails are taken in from an IMAP server on this machine, Dovecot of the Debian package.

Mails with one attachment each lie in a mailbox, and are accepted up to the queue; then mails arrive one by
one, and the time until each is in the queue is measured. The database is an embedded PostgreSQL with its
default durability. No document is processed meanwhile.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.shared import ROOT
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.sources.watching import SourceWatching
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow

sys.path.append(str(ROOT / "tests"))  # the server and the mails of the tests

from support.dovecot import PASSWORD, Dovecot, running_dovecot
from support.mails import mail

GOAL_S = 60
GOAL_ONE_S = 1.0
ARRIVALS = 20
_PATIENCE_S = 600
_PAUSE_S = 0.5


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--mails", type=int, default=1_000)
    parser.add_argument("--kb", type=int, default=50, help="size of each attachment (50)")
    options = parser.parse_args()
    subprocess.run([ROOT / "scripts" / "system-packages", "dovecot-imapd"], check=True)
    with running_dovecot() as dovecot, tempfile.TemporaryDirectory(prefix="docmill-") as name:
        asyncio.run(measure(Path(name), dovecot, options.mails, options.kb * 1000))


async def measure(folder: Path, dovecot: Dovecot, count: int, size: int) -> None:
    settings = Settings.model_validate(
        {
            "data_dir": folder / "data",
            "sources": {"allow_private_addresses": True},
            "secrets": {"key": "k" * 64},
        }
    )
    dovecot.deliver("anna", [mail(0)])  # makes the mailbox
    dovecot.drop("anna", (_mail(number, size) for number in range(1, count)))
    async with open_service(settings) as service:
        watch = SourceWatching(service.sources, service.database, "bench", lease_s=30, concurrency=5)
        row = await _add_mailbox(service, dovecot)
        began = time.monotonic()
        watching = asyncio.create_task(watch.work_for_ever())
        await _until(service, row, count)
        took_s = time.monotonic() - began
        queued = (await service.queue.depth()).due
        print(
            f"{count} mails with an attachment of {size // 1000} KB: {took_s:.1f} s up to the queue"
            f" ({count / took_s:.0f}/s; goal: {GOAL_S} s for 1,000); {queued} in the queue",
            flush=True,
        )
        await asyncio.sleep(2)
        waits = [await _arrive(service, dovecot, row, count + number, size) for number in range(ARRIVALS)]
        watching.cancel()
        await asyncio.wait({watching})
    waits.sort()
    print(
        f"from arrival to the queue: {statistics.median(waits):.3f} s median,"
        f" {statistics.quantiles(waits, n=20)[-1]:.3f} s p95, {waits[-1]:.3f} s at most of {ARRIVALS}"
        f" (goal: {GOAL_ONE_S:g} s)"
    )


def _mail(number: int, size: int) -> bytes:
    content = b"%PDF-1.7 " + os.urandom(size)
    return mail(number, attachment="invoice.pdf", content=content)


async def _add_mailbox(service: Service, dovecot: Dovecot) -> SourceRow:
    return await service.sources.add(
        "imap",
        "Mails",
        {"host": "127.0.0.1", "port": dovecot.port, "security": "none", "user": "anna"},
        {"password": PASSWORD},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


async def _arrive(service: Service, dovecot: Dovecot, row: SourceRow, before: int, size: int) -> float:
    """The seconds from the arrival of a mail until it is in the queue."""
    content = _mail(before, size)
    began = time.monotonic()
    await asyncio.to_thread(dovecot.drop, "anna", [content])
    await _until(service, row, before + 1)
    took_s = time.monotonic() - began
    await asyncio.sleep(_PAUSE_S)
    return took_s


async def _until(service: Service, row: SourceRow, count: int) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            current = await service.sources.get(row.id, tenant_id=row.tenant_id)
            if current is not None and current.arrivals >= count:
                return
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    main()
