"""Record docmill's complete output for the documents of the benchmarks, and print the differences later.

python -m bench.golden record FOLDER                    # reads for up to an hour; kept readings stay
python -m bench.golden compare FOLDER                   # the same again; prints every difference
python -m bench.golden compare FOLDER --from-readings   # minutes: from kept readings, nothing is recognised
python -m bench.golden compare FOLDER --only mail --way run

Ways: `readings` repeats classification, extraction and gate from what was read when it was recorded; `run` is
`docmill run` on the files, `vault` a new vault by its API, with some documents of each kind. Numbers are
rounded to six decimals. Exit code 1 if anything differs.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.golden import programs, records
from bench.golden.kinds import Kind, chosen, files, files_for_vault
from bench.golden.readings import Reading, Readings, read_files, understood
from bench.golden.records import Record
from docmill import Schema
from docmill.schemas.user_schemas import schema_of, words_of

WAYS = ("readings", "run", "vault")
EVERY_S = 10


class Progress:
    """Tells on standard error every few seconds how far one kind is."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total = title, total
        self._begun = self._told = time.monotonic()
        self._count = 0

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now - self._told >= EVERY_S:
            self._told = now
            print(
                f"  {self._title}: {count} of {self._total}, {self.seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    def one_more(self) -> None:
        self._count += 1
        self(self._count)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun


def main() -> None:
    arguments = _arguments()
    ways = ("readings",) if arguments.from_readings else tuple(arguments.way or WAYS)
    kinds = chosen(arguments.documents, tuple(arguments.only))
    golden = Golden(arguments.folder, arguments.jobs)
    if arguments.command == "record":
        for way in ways:
            for name, kind in kinds.items():
                golden.record(way, name, kind, again=not arguments.from_readings)
        return
    recorded = [
        (way, name, kind) for way in ways for name, kind in kinds.items() if golden.place(way, name).exists()
    ]
    if not recorded:
        raise SystemExit(f"nothing of this is recorded in {arguments.folder}")
    found = [golden.compare(*item) for item in recorded]
    differing, documents, count = (sum(column) for column in zip(*found, strict=True))
    print(f"{count} differences in {differing} of {documents} documents")
    sys.exit(1 if count else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("folder", type=Path, help="where the record is kept, outside the repository")
    parser.add_argument("--only", action="append", default=[], metavar="KIND", help="repeatable")
    parser.add_argument("--way", action="append", choices=WAYS, help="repeatable; all unless told otherwise")
    parser.add_argument("--from-readings", action="store_true", help="nothing is read: the way `readings`")
    parser.add_argument("--documents", type=Path, help="a folder of documents to take instead of all kinds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that work")
    return parser.parse_args()


class Golden:
    """A record in a folder."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._folder, self._jobs = folder, jobs

    def place(self, way: str, name: str) -> Path:
        return self._folder / way / f"{name}.jsonl"

    def record(self, way: str, name: str, kind: Kind, *, again: bool) -> None:
        """again: documents without a kept reading are read first."""
        if way == "readings" and again:
            self._read(name, kind)
        progress = Progress(f"{way} {name}", 0)
        found = self._found(way, name, kind)
        if found:
            records.write(self.place(way, name), found)
        print(f"{way} {name}: {len(found)} documents recorded in {progress.seconds:.0f} s", flush=True)

    def compare(self, way: str, name: str, kind: Kind) -> tuple[int, int, int]:
        """Prints what differs: documents that differ, all documents, differences."""
        progress = Progress(f"{way} {name}", 0)
        with tempfile.TemporaryDirectory(prefix="docmill-golden-") as folder:
            now = Path(folder) / "now.jsonl"
            records.write(now, self._found(way, name, kind))
            before, after = records.read(self.place(way, name)), records.read(now)
        found = list(records.differences(before, after))
        for source, told in found:
            print(f"{way} {name}: {source}: {told}")
        differing = len({source for source, _ in found})
        print(
            f"{way} {name}: {len(found)} differences in {differing} of {len(before)} documents,"
            f" {progress.seconds:.0f} s",
            flush=True,
        )
        return differing, len(before), len(found)

    def _found(self, way: str, name: str, kind: Kind) -> list[Record]:
        if way == "readings":
            return self._from_readings(name, kind)
        with tempfile.TemporaryDirectory(prefix="docmill-golden-") as folder:
            if way == "vault":
                some = files_for_vault(name, kind, self._folder)
                told = Progress(f"{way} {name}", len(some))
                return programs.vault(some, Path(folder), told=told) if some else []
            some = {} if kind.read_otherwise else files(name, kind, self._folder)
            told = Progress(f"{way} {name}", len(some))
            return programs.run(some, kind, Path(folder), jobs=self._jobs, told=told) if some else []

    def _read(self, name: str, kind: Kind) -> None:
        kept = Readings(self._folder / "readings.sqlite")
        known = kept.sources(name)
        todo = {
            source: path
            for source, path in files(name, kind, self._folder).items()
            if source not in known and not kind.read_as
        }
        progress = Progress(f"reading {name}", len(todo))

        def done(found: Sequence[Reading]) -> None:
            kept.keep(name, found)
            progress.one_more()

        if kind.read_otherwise:
            kept.keep(name, kind.read_otherwise(todo))
        elif todo:
            asyncio.run(read_files(todo, self._jobs, done))
        kept.close()
        print(f"reading {name}: {len(todo)} documents in {progress.seconds:.0f} s", flush=True)

    def _from_readings(self, name: str, kind: Kind) -> list[Record]:
        kept = Readings(self._folder / "readings.sqlite")
        readings = [item for item in kept.of(kind.read_as or name) if item.transcription]
        kept.close()
        progress = Progress(f"readings {name}", len(readings))
        found: list[Record] = []

        def done(record: Record) -> None:
            found.append(record)
            progress.one_more()

        asyncio.run(understood(readings, self._jobs, _schema(kind), done))
        return found


def _schema(kind: Kind) -> Schema | None:
    """The user's own one, as `docmill run` takes it."""
    if kind.schema is None:
        return None
    labels: dict[str, list[str]] = json.loads(kind.labels.read_text(encoding="utf-8")) if kind.labels else {}
    own: dict[str, Any] = json.loads(kind.schema.read_text(encoding="utf-8"))
    return schema_of(own, labels={path: words_of(words) for path, words in labels.items()})


if __name__ == "__main__":
    main()
