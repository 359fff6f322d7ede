"""Ports that keep everything in memory: for tests, notebooks and runs that need no more."""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from docmill.errors import CorruptError
from docmill.model.result import Result
from docmill.ports import Original, Ref


class MemoryReader:
    """`Reader` of given bytes, by key. They are laid down in `folder`, since parsers want files."""

    def __init__(self, contents: Mapping[str, bytes], folder: Path) -> None:
        self._contents = contents
        self._folder = folder

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        if ref.key not in self._contents:
            raise CorruptError(f"{ref.key!r} is gone")
        content = self._contents[ref.key]
        content_hash = hashlib.sha256(content).hexdigest()
        path = self._folder / content_hash
        await asyncio.to_thread(path.write_bytes, content)
        return Original(path=path, name=ref.name, content_hash=content_hash)


class MemoryExporter:
    """`Exporter` into a dictionary, by key."""

    def __init__(self) -> None:
        self.results: dict[str, Result] = {}

    async def export(self, ref: Ref, result: Result) -> None:
        """See `Exporter.export`."""
        self.results[ref.key] = result


class MemoryJournal:
    """`Journal` of one document for as long as the process lives."""

    def __init__(self) -> None:
        self._results: dict[str, bytes] = {}

    async def get(self, step: str) -> bytes | None:
        """See `Journal.get`."""
        return self._results.get(step)

    async def put(self, step: str, result: bytes) -> None:
        """See `Journal.put`."""
        self._results.setdefault(step, result)

    async def replace(self, step: str, result: bytes) -> None:
        """See `Journal.replace`."""
        self._results[step] = result

    async def entries(self, folder: str) -> list[str]:
        """See `Journal.entries`."""
        return sorted(step for step in self._results if step.startswith(f"{folder}/"))

    async def remove(self, step: str) -> None:
        """See `Journal.remove`."""
        self._results.pop(step, None)
