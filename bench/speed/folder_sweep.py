"""Measure one look into a watched folder of many files: all new, without taking them; and all known.

The files are small and in a hundred folders. The time to take documents is that of the intake, not measured.
The peer is a look of watchdog's polling observer, with which paperless-ngx watches network shares: a snapshot
of the folder that is compared with the one before, in memory, forgotten when the process ends.
"""

import asyncio
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
from watchdog.utils.dirsnapshot import DirectorySnapshot, DirectorySnapshotDiff

from bench.arguments import argument_parser
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.config.source_settings import SourceSettings
from docmill.service.sources.folder.watcher import FolderWatcher
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.store.database import DEFAULT_USER_ID, new_id

FOLDERS = 100
BATCH = 1000


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--files", type=int, default=50_000, help="files in the folder (50,000)")
    asyncio.run(measure(parser.parse_args().files))


async def measure(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="docmill-") as place:
        inbox = Path(place) / "inbox"
        fill(inbox, count)
        settings = Settings(data_dir=Path(place) / "data", sources=SourceSettings(folders=(inbox,)))
        async with open_service(settings) as service:
            row = await service.sources.add(
                "folder",
                "Scans",
                {"path": str(inbox), "subfolders": True, "stable_s": 0},
                {},
                tenant_id=service.default_tenant_id,
                created_by=DEFAULT_USER_ID,
            )
            connection, intake = service.sources.open(row), service.sources.item_intake(row)
            assert isinstance(connection, FolderWatcher)
            watcher = connection
            first = await timed(lambda: look(watcher, intake))
            await note_all(service, watcher, intake)
            before = psutil.Process().memory_info().rss
            known = await timed(lambda: watcher.sweep(intake))
            grown = psutil.Process().memory_info().rss - before
        theirs = peer(inbox, count)
    print(f"{count} files: all new, listed and looked up {first:.1f} s; all known {known:.1f} s (goal: 10 s)")
    print(f"memory grew by {grown / 1e6:.0f} MB meanwhile")
    print(f"the peer: {theirs:.2f} s; docmill takes {known / theirs:.1f} times that")


def peer(inbox: Path, count: int) -> float:
    before = DirectorySnapshot(str(inbox), recursive=True)
    began = time.perf_counter()
    now = DirectorySnapshot(str(inbox), recursive=True)
    difference = DirectorySnapshotDiff(before, now)
    seconds = time.perf_counter() - began
    assert len(now.paths) == count + FOLDERS + 1
    assert not difference.files_created
    return seconds


def fill(inbox: Path, count: int) -> None:
    for number in range(count):
        folder = inbox / f"folder {number % FOLDERS}"
        if number < FOLDERS:
            folder.mkdir(parents=True)
        (folder / f"scan {number}.pdf").write_bytes(b"%%PDF-1.7 %d" % number)


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def look(watcher: FolderWatcher, intake: ItemIntake) -> None:
    """List the files and ask for those known, as a sweep does before it takes any."""
    files = watcher.tree.files()
    while batch := await asyncio.to_thread(lambda: list(itertools.islice(files, BATCH))):
        assert not await intake.known([watcher.item_name(file) for file in batch])


async def note_all(service: Service, watcher: FolderWatcher, intake: ItemIntake) -> None:
    rows = [
        (new_id(), intake.tenant_id, intake.source_id, watcher.item_name(file))
        for file in watcher.tree.files()
    ]
    async with service.database.tenant(intake.tenant_id) as conn, conn.cursor() as cur:
        await cur.executemany(
            """
            INSERT INTO arrival (id, tenant_id, doc_source_id, item, metadata) VALUES (%s, %s, %s, %s, '{}')
            """,
            rows,
        )


if __name__ == "__main__":
    main()
