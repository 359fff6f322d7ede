"""Documents go in while everything breaks; at the end each must have come to exactly one end.

Ends with 1 if anything was lost, failed, done twice, written by who had no right to, stuck, or left over.
Every document of a soak is good: one that failed is lost to who sent it.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import stamina

from docmill.errors import DocmillError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.intake import orphaned_files
from docmill.service.intake.orphaned_files import remove_orphaned_files
from faults.audit import Findings, examine, is_quiet, open_books
from faults.control import Control
from faults.processes import Mother
from faults.proxy import PostgresProxy
from faults.server import KillableServer
from soak.nemesis import Nemesis, say
from soak.uploads import UploadProcess, Uploads
from soak.workers import Crew
from support.aws_emulators import CREDENTIALS, Emulator, running

LEASE_S = 3.0
PATIENCE_S = 180
WORKER: dict[str, Any] = {
    "lease_s": LEASE_S,
    "heartbeat_s": LEASE_S / 4,
    "wait_s": 2.0,
    "concurrency": 16,
    "grace_s": 5.0,
    "sweep_s": 5.0,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do."""

    documents: int
    minutes: float
    workers: int
    seed: int
    queue: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it happens. emulator: of AWS, if the queue is there."""

    folder: Path
    emulator: Emulator | None
    server: KillableServer
    proxy: PostgresProxy
    service: Service
    crew: Crew
    uploading: UploadProcess


def main() -> int:
    """Soak; the exit code."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--queue", choices=["postgresql", "sqs"], default="postgresql")
    plan = Plan(**vars(parser.parse_args()))
    say(
        f"{plan.documents} documents, {plan.workers} workers, {plan.minutes:g} minutes, seed {plan.seed}, "
        f"queue in {plan.queue}"
    )
    os.environ |= CREDENTIALS
    for age in ("LEFT_AFTER", "_GIVEN_UP_AFTER"):  # an upload without an answer may leave a file for a day
        assert hasattr(orphaned_files, age)
        orphaned_files.__dict__[age] = timedelta(0)
    logging.disable()  # the faults are meant; workers' logs are counted
    return asyncio.run(soak(plan))


async def soak(plan: Plan) -> int:
    """Everything, from the empty database to the verdict."""
    mother = Mother()
    try:
        async with _stage(mother, plan) as stage:
            chance = Random(plan.seed)  # noqa: S311  a dice
            uploads = Uploads(stage.uploading, Random(plan.seed + 1))  # noqa: S311  another
            nemesis = Nemesis(
                chance,
                stage.crew,
                stage.uploading,
                stage.server,
                stage.proxy,
                stage.service.queue,
                stage.emulator,
                LEASE_S,
            )
            begin = time.monotonic()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(uploads.put_in(plan.documents, within_s=plan.minutes * 54))
                tasks.create_task(nemesis.rage(for_s=plan.minutes * 60))
            await stage.uploading.stop()
            settled_s = await _settle(stage)
            await stage.crew.stop()
            await stage.crew.come_and_go()
            # Again while it fails: our own pool may still hold a connection that a fault has cut.
            async for attempt in stamina.retry_context(on=DocmillError, attempts=10):
                with attempt:
                    await remove_orphaned_files(stage.service.database, stage.service.blobs)
            findings = await examine(
                stage.server.url,
                stage.service.queue,
                stage.service.blobs,
                stage.folder / "work",
                uploads.accepted,
            )
            _report(stage, uploads, nemesis, findings)
            say(f"{time.monotonic() - begin:.0f} s in all, {settled_s:.0f} s of them after the last fault")
    finally:
        mother.close()
    return _verdict(findings)


@contextlib.asynccontextmanager
async def _stage(mother: Mother, plan: Plan) -> AsyncGenerator[Stage]:
    # A short path of our own: sockets need it, and the server's user must be able to pass.
    with tempfile.TemporaryDirectory(prefix="docmill-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        emulator = stack.enter_context(running("ministack", folder)) if plan.queue == "sqs" else None
        server = KillableServer(folder / "postgres")
        server.start()
        open_books(server.url)
        try:
            async with PostgresProxy(folder, server.url) as proxy, Control(folder / "control") as control:
                orders: dict[str, Any] = {
                    "data_dir": str(folder / "data"),
                    "database_url": proxy.url,
                    "worker": WORKER,
                    **(emulator.settings() if emulator else {}),
                }
                async with open_service(Settings(**orders)) as service:
                    crew = Crew(mother, orders, control.path, size=plan.workers)
                    uploading = UploadProcess(orders)
                    await crew.start()
                    uploading.start()
                    try:
                        yield Stage(folder / "data", emulator, server, proxy, service, crew, uploading)
                    finally:
                        await uploading.stop()
                        await crew.kill()
        finally:
            server.stop()


async def _settle(stage: Stage) -> float:
    """Wait until nothing is under way, or patience ends; the seconds it took."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE_S:
        with contextlib.suppress(DocmillError, psycopg.OperationalError):
            if await is_quiet(stage.server.url, stage.service.queue):
                break
        await asyncio.sleep(0.5)
    return time.monotonic() - begin


def _report(stage: Stage, uploads: Uploads, nemesis: Nemesis, findings: Findings) -> None:
    with psycopg.connect(stage.server.url) as conn:
        known = [row[0] for row in conn.execute("SELECT id FROM ingestion").fetchall()]
        attempts = Counter(
            dict(conn.execute("SELECT attempt_count, count(*) FROM ingestion GROUP BY 1").fetchall())
        )
        codes = dict(
            conn.execute(
                "SELECT error_code, count(*) FROM ingestion WHERE status = 'failed' GROUP BY 1"
            ).fetchall()
        )
    taken = [id_ for id_ in known if id_ not in uploads.accepted]
    say(f"faults: {sum(nemesis.done.values())}: {dict(nemesis.done)}")
    say(f"worker processes: {stage.crew.started}, processes that took uploads: {stage.uploading.started}")
    say(f"claims lost and said so: {stage.crew.events['claim lost: nothing is written or deleted']}")
    say(
        f"uploads: {len(uploads.accepted)} accepted, {len(uploads.indeterminate)} indeterminate, "
        f"{len(taken)} of which were taken"
    )
    say(f"attempts: {dict(sorted(attempts.items()))}")
    say(f"completed: {findings.completed}, failed: {findings.failed} {codes or ''}")


def _verdict(findings: Findings) -> int:
    for kind in ("lost", "unfinished", "duplicated", "written_by_strangers", "left_over"):
        found = getattr(findings, kind)
        say(f"{kind.replace('_', ' ')}: {len(found)} {[str(item) for item in found[:20]] or ''}")
    say(f"wrongly failed: {findings.failed}")  # every paper of a soak can be read
    return 1 if findings.wrong or findings.failed else 0


if __name__ == "__main__":
    sys.exit(main())
