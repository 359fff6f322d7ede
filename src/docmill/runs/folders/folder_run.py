"""A run of docmill's own steps over a folder: its state in a store, its results in a record file."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from docmill.errors import MisconfiguredError, TransientError
from docmill.pipeline import Steps
from docmill.ports import Reader, Ref
from docmill.runs.events import Event
from docmill.runs.execution import Runner
from docmill.runs.fingerprints import fingerprint_of
from docmill.runs.folder_files import DEFAULT_MAX_BYTES, FolderReader
from docmill.runs.folders.folder_flow import DocumentOutcome, FolderFlow, FolderPolicy
from docmill.runs.folders.nested_refs import containers_of, ref_of, stored_document, text_of
from docmill.runs.folders.part_files import PartFiles
from docmill.runs.folders.record_file import EarlierRecord, RecordFile
from docmill.runs.inputs import version_of
from docmill.runs.policy import RunPolicy
from docmill.runs.report import RunReport
from docmill.runs.roles import Inputs
from docmill.runs.states import DONE, DocumentStatus, Run, StateStore, new_run_id
from docmill.runs.write_behind import WriteBehindJournal

log = logging.getLogger(__name__)

_OWNER = "the process that has the record file"
"""There is one at a time: what an earlier one was at work on when it was killed is free at once."""
_UNDONE: tuple[DocumentStatus, ...] = ("pending", "in_progress", "failed", "vanished")
_OUT = "out"
"""In the configuration of a run over a folder: where its records are."""


def _ignore(_: object) -> None: ...


@dataclass(frozen=True, kw_only=True)
class FolderRun:
    """A run over documents of a folder.

    folder: whose documents are processed, or one file; reader: of these, that of the folder unless given.
    out: the record file, which decides what is done: what has no record there is processed, whatever the
    store says. configuration: of the command that it came from. retry: whether failed documents are tried
    again, or the keys of those that are. on_done: told of each document; on_event: of everything else; both
    in the event loop, and must not block.
    """

    folder: Path
    out: Path
    steps: Steps
    store: StateStore
    policy: RunPolicy
    rules: FolderPolicy = field(default_factory=FolderPolicy)
    reader: Reader | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    run_id: str | None = None
    retry: Sequence[str] | bool = False
    configuration: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    on_done: Callable[[DocumentOutcome], None] = _ignore
    on_event: Callable[[Event], None] | None = None
    handles_signals: bool = False

    async def run(
        self, refs: Sequence[Ref], records: RecordFile, earlier: Mapping[str, EarlierRecord]
    ) -> RunReport:
        """Process what has no record yet. records: opened, and flushed at the end. earlier: what it has.

        Raises SetupError where a person must act before the run can go on, also if records cannot be written.
        """
        run, is_resumed = await self._begin(earlier)
        files = PartFiles(self._reader, self.steps.unpacker)

        @asynccontextmanager
        async def opened(journal: WriteBehindJournal) -> AsyncGenerator[FolderFlow]:
            try:
                yield FolderFlow(
                    self.steps,
                    files,
                    records,
                    journal,
                    earlier=earlier,
                    policy=self.rules,
                    on_done=self.on_done,
                )
            finally:
                await files.close()

        async def listed() -> Inputs:
            return [*map(self._listed, refs), *await self._parts_to_do(run, refs)]

        runner = Runner(
            opened=opened,
            listed=listed,
            policy=self.policy,
            fingerprint=self._fingerprint,
            owner=_OWNER,
            on_event=self.on_event,
            handles_signals=self.handles_signals,
        )
        try:
            return await runner.work_through(run, self.store, is_resumed=is_resumed)
        except TransientError as error:  # of the record file or the store, which had time to recover
            raise MisconfiguredError(
                f"{error.message}. What was written is whole; see that there is room, then run the same"
                " command again to go on"
            ) from error

    @property
    def _reader(self) -> Reader:
        if self.reader is not None:
            return self.reader
        return FolderReader(self.folder, max_bytes=self.max_bytes)

    @property
    def _fingerprint(self) -> str:
        schema = self.steps.schema
        return fingerprint_of(
            [
                version("docmill"),
                self.steps.fingerprint,
                self.rules.document_type,
                None if schema is None else schema.name,
            ]
        )

    def _listed(self, ref: Ref) -> Ref:
        version = ref.version or version_of(_top_of(self.folder) / ref.key)
        document = stored_document(replace(ref, version=version))
        return Ref(document.path, document.name, document.metadata, document.version)

    async def _begin(self, earlier: Mapping[str, EarlierRecord]) -> tuple[Run, bool]:
        """The run that writes this record file, or a new one; whether it is an earlier one."""
        run = await self._find()
        if run is not None:
            await self.store.release(run.run_id, owner=_OWNER)
        if run is not None and self.retry:
            given: Sequence[str] = () if isinstance(self.retry, bool) else self.retry
            # As the file is called, or as the store calls it.
            chosen = [*given, *map(text_of, given)] or None
            await self.store.requeue(run.run_id, chosen)
        if run is not None and await self._lacks_records(run, earlier):
            log.warning("records are missing or of other content; their documents are read again")
            await self.store.remove_run(run.run_id)
            run = replace(run, fingerprint=self._fingerprint, started_at=datetime.now(UTC), listing=0)
            await self.store.create_run(run)
        if run is not None:
            return run, True
        run = Run(
            self.run_id or new_run_id(),
            datetime.now(UTC),
            self._fingerprint,
            configuration=self._configuration,
        )
        await self.store.create_run(run)
        return run, False

    @property
    def _configuration(self) -> dict[str, JsonValue]:
        return {**self.configuration, "folder": str(self.folder.resolve()), _OUT: str(self.out.resolve())}

    async def _find(self) -> Run | None:
        run = await find_run_of(self.store, self.out)
        if run is not None and self.run_id not in (None, run.run_id):
            raise MisconfiguredError(
                f"{str(self.out)!r} belongs to the run {run.run_id!r}; give another file, or no name"
            )
        if run is not None:
            await asyncio.to_thread(self._check_folder, run)
        return run

    def _check_folder(self, run: Run) -> None:
        """Raise MisconfiguredError if the records are those of another folder: names would mean two files.

        A folder that is not there any more may have been moved here.
        """
        before = Path(str(cast("Mapping[str, JsonValue]", run.configuration)["folder"]))
        if before.exists() and not _top_of(before).samefile(_top_of(self.folder)):
            raise MisconfiguredError(
                f"{str(self.out)!r} has the records of {str(before)!r}; give another file, or --fresh to"
                " replace them"
            )

    async def _lacks_records(self, run: Run, earlier: Mapping[str, EarlierRecord]) -> bool:
        """True if what counts as ended has no record, or one of another content, as in a restored file."""
        ended = {*DONE, "failed"}
        async for state in self.store.documents(run.run_id):
            if state.status not in ended:
                continue
            record = earlier.get(ref_of(state).key)
            if record is None:
                return True
            # A document that could not be read has no hash in its record; its state keeps that of before.
            if record.content_hash and record.content_hash != state.content_hash:
                return True
        return False

    async def _parts_to_do(self, run: Run, refs: Sequence[Ref]) -> list[Ref]:
        """What is left to do within documents that are done: a listing names it again."""
        there = {ref.key for ref in refs}
        parts: list[Ref] = []
        for status in _UNDONE:
            async for state in self.store.documents(run.run_id, status=status):
                containers = list(containers_of(ref_of(state)))
                if containers and containers[-1].key in there:
                    parts.append(Ref(state.path, state.name, state.metadata, state.version))
        return parts


def _top_of(folder: Path) -> Path:
    """The folder to which names of documents relate: of a single file, that in which it is."""
    return folder if folder.is_dir() else folder.parent


async def find_run_of(store: StateStore, out: Path) -> Run | None:
    """The run that writes this record file, if there is one."""
    place = str(await asyncio.to_thread(out.resolve))
    for run in await store.list_runs():
        configuration = run.configuration
        if isinstance(configuration, dict) and configuration.get(_OUT) == place:
            return run
    return None


async def forget_run_of(store: StateStore, out: Path) -> None:
    """Forget the run that writes this record file, so that the next one starts over."""
    run = await find_run_of(store, out)
    if run is not None:
        await store.remove_run(run.run_id)
    await store.close()
