"""Files of documents within others, taken out when they are needed and kept for a while."""

import asyncio
import shutil
import tempfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from weakref import WeakValueDictionary

from docmill.errors import CorruptError, ServerError
from docmill.files import digest
from docmill.model.document import Part
from docmill.pipeline import PartLimits
from docmill.ports import Original, PartFile, Reader, Ref, Unpacker
from docmill.runs.folders.nested_refs import (
    container_document,
    container_of,
    containers_of,
    part_of,
)

PartCounts: TypeAlias = defaultdict[str, Counter[str]]

MAX_OPEN = 8
"""Containers whose parts stay on the disk while nobody reads them: the next documents are often theirs."""


@dataclass(slots=True)
class _Opened:
    """A container whose parts are on the disk. paths: by name of the part. users: how many read them."""

    folder: Path
    paths: Mapping[str, Path] = field(default_factory=dict[str, Path])
    users: int = 0


class PartFiles:
    """The originals of a run: files of a folder, and documents within them at any depth.

    reader: of the files of the folder.
    """

    def __init__(self, reader: Reader, unpacker: Unpacker | None, *, max_open: int = MAX_OPEN) -> None:
        self._reader = reader
        self._unpacker = unpacker
        self._max_open = max_open
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    @asynccontextmanager
    async def original(self, ref: Ref) -> AsyncGenerator[Original]:
        """The file of a document, for as long as it is open.

        Raises what its reader or unpacker raises, CorruptError for a part that is not there any more.
        """
        container = container_of(ref)
        if container is None:
            yield await self._reader.read(ref)
            return
        opened = await self._open(ref, container)
        try:
            path = opened.paths.get(part_of(ref).name)
            if path is None:
                raise CorruptError(f"{ref.name!r} is not in {container.name!r} any more")
            yield Original(path, ref.name, await asyncio.to_thread(digest, path))
        finally:
            opened.users -= 1
            await self._close_unused()

    async def add(self, container: Ref, folder: Path, files: Sequence[PartFile]) -> None:
        """Keep the parts of a container that was just unpacked."""
        paths = {file.part.name: file.path for file in files if file.path is not None}
        async with self._lock(container):
            before = self._opened.pop(container.key, None)
            if before is not None and before.users:  # another attempt of a part reads there
                self._opened[container.key] = before
                await _remove(folder)
                return
            if before is not None:
                await _remove(before.folder)
            self._opened[container.key] = _Opened(folder, paths)
        await self._close_unused()

    async def close(self) -> None:
        """Remove all files of parts."""
        while self._opened:
            await _remove(self._opened.popitem()[1].folder)

    async def _open(self, ref: Ref, container: Ref) -> _Opened:
        """The container of a part with its parts on the disk, counted as in use."""
        async with self._lock(container):
            opened = self._opened.get(container.key)
            if opened is None or part_of(ref).name not in opened.paths:
                folder, paths = await self._unpack(ref, container)
                if opened is None:
                    opened = self._opened[container.key] = _Opened(folder)
                opened.paths = {**opened.paths, **paths}
            self._opened.move_to_end(container.key)
            opened.users += 1
            return opened

    async def _unpack(self, ref: Ref, container: Ref) -> tuple[Path, dict[str, Path]]:
        """Take the part, and what comes with it, out of its container: the folder, and the files by name."""
        if self._unpacker is None:
            raise CorruptError(f"{container.name!r} is not unpacked here")
        before = self._opened.get(container.key)
        folder = await make_folder() if before is None else await make_folder(before.folder)
        try:
            async with self.original(container) as original:
                files = await self._unpacker.unpack(original, container_document(ref, original), folder)
        except BaseException:
            await _remove(folder)
            raise
        return folder, {file.part.name: file.path for file in files if file.path is not None}

    async def _close_unused(self) -> None:
        while len(self._opened) > self._max_open:
            unused = next((key for key, opened in self._opened.items() if not opened.users), None)
            if unused is None:
                return
            await _remove(self._opened.pop(unused).folder)

    def _lock(self, container: Ref) -> asyncio.Lock:
        return self._locks.setdefault(container.key, asyncio.Lock())


class PartsOfDocument:
    """`PartsReceiver` of one attempt at a document.

    counts: the parts so far, by the file that brought them and the document that holds them.
    """

    def __init__(self, files: PartFiles, ref: Ref, limits: PartLimits, counts: PartCounts) -> None:
        containers = list(containers_of(ref))
        self.parts: list[Part] = []
        self._files = files
        self._limits = limits
        self._depth = len(containers)
        self._key = ref.key
        self._counter = counts[containers[-1].key if containers else ref.key]
        self._folder: Path | None = None

    async def folder(self, ref: Ref) -> Path:
        """See `PartsReceiver.folder`."""
        del ref
        self._limits.check_depth(self._depth)
        await self.remove()
        self._folder = await make_folder()
        return self._folder

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        """See `PartsReceiver.receive`."""
        del self._counter[self._key]  # those of an earlier attempt
        admitted = self._limits.admit(parts, taken=self._counter.total())
        self._counter[self._key] = len(admitted)
        folder, self._folder = self._folder, None
        if folder is not None:  # none if it stands too deep
            await self._files.add(ref, folder, admitted)
        self.parts = [file.part for file in admitted]
        return self.parts

    async def remove(self) -> None:
        """Remove what was taken out and not received."""
        if self._folder is not None:
            await _remove(self._folder)
            self._folder = None


async def make_folder(within: Path | None = None) -> Path:
    """A new folder for parts. Raises ServerError if there is no room."""
    try:
        return Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="docmill-parts-", dir=within))
    except OSError as error:
        raise ServerError(f"cannot make a folder for parts: {error.strerror}") from error


async def _remove(folder: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
