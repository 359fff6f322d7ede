"""Read many files, one after the other as they are done, with one pool of processes."""

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.api.one_file import SchemaSource, check_type, content_of, process_content
from docmill.errors import DocmillError, DocumentError, TransientError
from docmill.model.result import Schema
from docmill.presentation.file_result import FileResult
from docmill.runs.folder_files import FolderLister
from docmill.schemas.user_schemas import schema_of
from docmill.wiring import reading_pool
from docmill.workers.pool import Pool

_AHEAD = 2
"""Files at work for each process, enough that none waits for its next file."""


@dataclass(frozen=True)
class ProcessedFile:
    """One file of many: its result, or the error of one that could not be read."""

    path: Path
    result: FileResult | None = None
    error: DocmillError | None = None

    def unwrap(self) -> FileResult:
        """The result. Raises the error of a file that could not be read."""
        if self.result is None:
            raise self.error or AssertionError
        return self.result

    def __str__(self) -> str:
        return str(self.result) if self.error is None else f"{self.path.name}: {self.error.message}"


def process_many(
    source: Path | str | Iterable[Path | str],
    *,
    schema: SchemaSource | None = None,
    document_type: str | None = None,
    passwords: Sequence[str] = (),
    workers: int | None = None,
) -> Iterator[ProcessedFile]:
    """Process every file of a folder, or all that are given; yields each as soon as it is done.

    A file that cannot be read is given with its error, and the others go on. Files within files, such as
    attachments, are named in the result's `document.parts`; `docmill run` and pipelines read them as well.
    schema, document_type, passwords: as for `extract` and `process_file`. workers: processes that read; as
    many as there are cores unless given. Also works where an event loop is running, such as in a notebook.
    Raises MisconfiguredError for a folder that does not exist, an unknown type or an invalid schema.
    """
    check_type(document_type)
    chosen = None if schema is None else schema_of(schema)
    return _Background(
        lambda: aprocess_many(
            source, schema=chosen, document_type=document_type, passwords=passwords, workers=workers
        )
    ).results()


async def aprocess_many(
    source: Path | str | Iterable[Path | str],
    *,
    schema: SchemaSource | None = None,
    document_type: str | None = None,
    passwords: Sequence[str] = (),
    workers: int | None = None,
) -> AsyncGenerator[ProcessedFile]:
    """As `process_many`, for `async for`."""
    check_type(document_type)
    chosen = None if schema is None else schema_of(schema)
    paths = iter(_paths_of(source))
    async with reading_pool(workers) as pool:
        working: set[asyncio.Task[ProcessedFile]] = set()
        try:
            while True:
                while len(working) < _AHEAD * pool.workers and (path := next(paths, None)) is not None:
                    work = _process(path, pool, chosen, document_type, passwords)
                    working.add(asyncio.create_task(work))
                if not working:
                    return
                done, working = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)


async def _process(
    path: Path, pool: Pool, schema: Schema | None, document_type: str | None, passwords: Sequence[str]
) -> ProcessedFile:
    try:
        content = content_of(path)
    except DocmillError as error:  # it is gone, and the others are not
        return ProcessedFile(path, error=error)
    try:
        result = await process_content(
            content, pool, schema=schema, document_type=document_type, passwords=passwords
        )
    except (DocumentError, TransientError) as error:
        error.__cause__ = None
        return ProcessedFile(path, error=error)
    return ProcessedFile(path, result)


def _paths_of(source: Path | str | Iterable[Path | str]) -> Iterable[Path]:
    if not isinstance(source, Path | str):
        return map(Path, source)
    root = Path(source)
    top = root.parent if root.is_file() else root
    return (top / ref.key for ref in FolderLister(root).list())


class _Background:
    """An asynchronous iterator at work in a thread of its own, whose items are taken one by one."""

    def __init__(self, start: Callable[[], AsyncGenerator[ProcessedFile]]) -> None:
        self._start = start
        self._items: queue.Queue[ProcessedFile | BaseException | None] = queue.Queue(_AHEAD)
        self._is_stopped = threading.Event()

    def results(self) -> Iterator[ProcessedFile]:
        """The items. Ending early stops the work."""
        thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="docmill-many", daemon=True)
        thread.start()
        try:
            while (item := self._items.get()) is not None:
                if isinstance(item, DocmillError):
                    raise item from None
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self._is_stopped.set()
            while thread.is_alive():  # so that one who waits to put finds room
                try:
                    self._items.get(timeout=0.05)
                except queue.Empty:
                    thread.join(0.01)

    async def _run(self) -> None:
        try:
            items = self._start()
            try:
                async for item in items:
                    await asyncio.to_thread(self._items.put, item)
                    if self._is_stopped.is_set():
                        return
            finally:
                await items.aclose()
        except BaseException as error:  # noqa: BLE001  whatever it is, it belongs to the caller
            await asyncio.to_thread(self._items.put, error)
        await asyncio.to_thread(self._items.put, None)
