"""Ports that keep everything in memory: for notebooks and runs that need no more."""

from docmill.model.result import Result
from docmill.ports import Ref


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
