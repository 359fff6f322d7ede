"""Measure how fast mails are taken in from an IMAP server on this machine, Dovecot of the Debian package.

Mails with one attachment each lie in a mailbox, and are accepted up to the queue; then mails arrive one by
one, and the time until each is in the queue is measured. The database is an embedded PostgreSQL with its
default durability. No document is processed meanwhile. All is done with the default limit of starts a second
and without one.

The peer fetches the same mails with imap_tools, the library of paperless-ngx, writes each attachment to a
folder and puts a job for it into a queue in PostgreSQL (bench/peers/imap_tools_fetch.py).
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
from bench.speed.worker_throughput import PEERS_PYTHON
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.sources.watching import SourceWatching
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow

sys.path.append(str(ROOT / "tests"))  # the server and the mails of the tests

from support.dovecot import PASSWORD, Dovecot, running_dovecot
from support.mails import mail

GOAL_S = 60
GOAL_ONE_S = 1.0
ARRIVALS = 20
UNLIMITED = 100_000.0
_PATIENCE_S = 600
_PAUSE_S = 0.5


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--mails", type=int, default=1_000)
    parser.add_argument("--kb", type=int, default=50, help="size of each attachment (50)")
    options = parser.parse_args()
    subprocess.run([ROOT / "scripts" / "system-packages", "dovecot-imapd"], check=True)
    subprocess.run([ROOT / "scripts" / "emulators", "peers"], check=True)
    for starts_per_s in (None, UNLIMITED):
        with running_dovecot() as dovecot, tempfile.TemporaryDirectory(prefix="docmill-") as name:
            size = options.kb * 1000
            dovecot.deliver("anna", [_mail(0, size)])  # makes the mailbox
            dovecot.drop("anna", (_mail(number, size) for number in range(1, options.mails)))
            theirs_s = peer(Path(name), dovecot, options.mails)
            took_s = asyncio.run(measure(Path(name), dovecot, options.mails, size, starts_per_s))
            print(
                f"the peer, without limit: {theirs_s:.1f} s; docmill takes {took_s / theirs_s:.1f} times that"
            )


def peer(folder: Path, dovecot: Dovecot, count: int) -> float:
    """The seconds in which the peer takes the mails."""
    taken = folder / "peer"
    taken.mkdir()
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    try:
        arguments = [server.url(), str(dovecot.port), "anna", PASSWORD, taken, str(count)]
        done = subprocess.run(
            [PEERS_PYTHON, ROOT / "bench/peers/imap_tools_fetch.py", *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)
    finally:
        server.stop()


async def measure(folder: Path, dovecot: Dovecot, count: int, size: int, starts_per_s: float | None) -> float:
    """Print what was measured; the seconds until all mails were in the queue."""
    sources: dict[str, object] = {"allow_private_addresses": True}
    if starts_per_s is not None:
        sources["starts_per_s"] = starts_per_s
    settings = Settings.model_validate(
        {"data_dir": folder / "data", "sources": sources, "secrets": {"key": "k" * 64}}
    )
    limit = "without a limit" if starts_per_s else f"at {settings.sources.starts_per_s:g} starts a second"
    async with open_service(settings) as service:
        watch = SourceWatching(service.sources, service.database, "bench", lease_s=30, concurrency=5)
        row = await _add_mailbox(service, dovecot)
        began = time.monotonic()
        watching = asyncio.create_task(watch.work_for_ever())
        await _until(service, row, count)
        took_s = time.monotonic() - began
        queued = (await service.queue.depth()).due
        print(
            f"{limit}, {count} mails with an attachment of {size // 1000} KB: {took_s:.1f} s up to the queue"
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
    return took_s


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
