"""Send documents through two web servers and two workers, one of which is killed on the way: `make cluster`.

Prints what happened, and exits with 1 if a document was lost, doubled or changed.
"""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from bench.arguments import argument_parser
from bench.cluster.account import Account, Findings, examine
from bench.cluster.members import Cluster, Emulator, Member
from bench.cluster.papers import Paper, write_papers
from bench.data.shared import ROOT

LIMIT_S = 900
_AT_ONCE = 4
_LOOKS_EVERY_S = 0.05

SETTINGS = {
    # The documents of the killed worker come back when its lease is over: soon, for those who watch.
    "DOCMILL_WORKER__LEASE_S": "20",
    "DOCMILL_WORKER__HEARTBEAT_S": "5",
    "DOCMILL_WORKER__WAIT_S": "5",  # the end of a worker waits for that of its poll
}

console = Console(highlight=False, soft_wrap=True)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=200, help="files to upload (200)")
    parser.add_argument("--postgres", action="store_true", help="queue and files without AWS")
    parser.add_argument("--keep", action="store_true", help="leave it running until Ctrl-C")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docmill-cluster-") as folder:
        sys.exit(asyncio.run(_run(Path(folder), options)))


async def _run(folder: Path, options: Namespace) -> int:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    async with AsyncExitStack() as stack:
        settings = SETTINGS if options.postgres else SETTINGS | await _aws(folder, stack)
        cluster = Cluster(folder, settings)
        work = asyncio.create_task(_tried(cluster, folder, options.documents))
        try:
            await asyncio.wait(
                {work, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED, timeout=LIMIT_S
            )
            if not work.done():
                console.print("[red]stopped before the end[/red]")
                return 1
            faults = work.result()
            if options.keep:
                addresses = ", ".join(member.address for member in cluster.members if not member.killed)
                console.print(f"it goes on until Ctrl-C: {addresses}", markup=False)
                await stop.wait()
        finally:
            work.cancel()
            faults_at_end = await cluster.stop()
    for fault in [*faults, *faults_at_end]:
        console.print(f"✗ {fault}", style="red", markup=False)
    return 1 if faults or faults_at_end else 0


async def _aws(folder: Path, stack: AsyncExitStack) -> dict[str, str]:
    """Start an emulator of SQS and S3 and return the settings for it."""
    await asyncio.to_thread(subprocess.run, [ROOT / "scripts" / "emulators"], check=True)
    emulator = Emulator(folder)
    stack.push_async_callback(emulator.stop)
    await emulator.start()
    console.print(f"SQS and S3 are emulated at {emulator.endpoint}", markup=False)
    return {
        "DOCMILL_AWS__ENABLED": "true",
        "DOCMILL_AWS__ENDPOINT": emulator.endpoint,
        "DOCMILL_AWS__CREATE": "true",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }


async def _tried(cluster: Cluster, folder: Path, count: int) -> list[str]:
    """Send everything through the cluster once; return the faults in words."""
    papers = await asyncio.to_thread(write_papers, folder, count)
    unique = len({paper.content_hash for paper in papers})
    console.print(f"{len(papers)} files, {unique} different ones")
    webs = [await cluster.start(f"web {number}", "web") for number in (1, 2)]
    workers = [await cluster.start(f"worker {number}", "worker") for number in (1, 2)]
    for member in cluster.members:
        console.print(f"{member.name} answers at {member.address}", markup=False)
    account, started = Account(), time.monotonic()
    async with httpx.AsyncClient(timeout=60) as client:
        following = asyncio.create_task(_follow(client, webs[1], account))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_upload(client, papers, webs, account))
            tasks.create_task(_strike(client, cluster, workers[0], account, after=unique // 3))
            tasks.create_task(account.until(unique))
        following.cancel()
    seconds = time.monotonic() - started
    findings = await examine(webs[0].address, papers, account)
    _print(papers, account, findings, cluster, seconds)
    return findings.faults


async def _upload(
    client: httpx.AsyncClient, papers: Sequence[Paper], webs: Sequence[Member], account: Account
) -> None:
    """Upload all papers, a few at a time, to the web servers in turn."""
    left = iter(list(zip(papers, cycle(webs), strict=False)))

    async def send() -> None:
        for paper, web in left:
            content = await asyncio.to_thread(paper.path.read_bytes)
            answer = await client.post(
                f"{web.address}api/v1/documents", files={"file": (paper.path.name, content)}
            )
            account.answered(paper, answer.raise_for_status().json()["results"][0])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(send())


async def _follow(client: httpx.AsyncClient, web: Member, account: Account) -> None:
    """Record the documents that end, from the live events that a browser gets."""
    stream = client.stream("GET", f"{web.address}api/v1/events", params={"after": 0})
    async with stream as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                if event["kind"] in {"finished", "failed"}:
                    account.ended(event["document_id"])


async def _strike(
    client: httpx.AsyncClient, cluster: Cluster, victim: Member, account: Account, *, after: int
) -> None:
    """Kill a worker that has documents in work, once some have ended; then put another in its place."""
    await account.until(after)
    while not (held := await victim.jobs_in_flight(client)):  # noqa: ASYNC110  another process knows
        await asyncio.sleep(_LOOKS_EVERY_S)
    await victim.kill()
    console.print(f"{victim.name} was killed with {held} documents in work")
    heir = await cluster.start("worker 3", "worker")
    console.print(f"{heir.name} answers at {heir.address}", markup=False)


def _print(
    papers: Sequence[Paper], account: Account, findings: Findings, cluster: Cluster, seconds: float
) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    pace = 60 * len(account.ends) / seconds
    rows = {
        "sent": f"{len(papers)} files",
        "answered": _counts(account.answers),
        "ended": f"{len(account.ends)} documents in {seconds:.0f} s, {pace:.0f} a minute",
        "states": _counts(findings.states),
        "attempts": ", ".join(
            f"{count} took {attempts}" for attempts, count in sorted(findings.attempts.items())
        ),
        **{
            member.name: ("killed; before: " if member.killed else "") + _counts(member.attempts())
            for member in cluster.members
            if member.name.startswith("worker")
        },
        "lost, doubled or changed": str(len(findings.faults)),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items())) or "none"


if __name__ == "__main__":
    main()
