"""What a run has done: every document, read from the state store when it is asked for."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from docmill.errors import FailedDocumentsError, MisconfiguredError
from docmill.runs.reporting.run_page import RunSummary, build_short_report
from docmill.runs.reporting.run_report_file import MOST_PICTURES, write_run_page
from docmill.runs.states import DONE, DeadLetter, DocumentState, DocumentStatus, Run, StateStore

Value = TypeVar("Value")
_SHOWN = 5
"""Most failed documents that an error names."""


@dataclass(frozen=True)
class RunReport:
    """The report of a run. counts: of documents by status. seconds: that this call has taken.

    Iterating over it gives the state of every document, in the order in which they were listed, without
    holding them all in memory; in a running event loop, iterate with `async for`.
    """

    run: Run
    counts: Mapping[DocumentStatus, int]
    seconds: float
    is_interrupted: bool = False
    store: StateStore = field(repr=False, kw_only=True)

    @property
    def run_id(self) -> str:
        """The name of the run, with which it is resumed."""
        return self.run.run_id

    @property
    def total(self) -> int:
        """The number of documents, without those that have vanished."""
        return sum(self.counts.values()) - self.counts.get("vanished", 0)

    @property
    def completed(self) -> int:
        """The number of documents that were exported, also of those that need a review."""
        return sum(self.counts.get(status, 0) for status in DONE)

    @property
    def failed(self) -> int:
        """The number of documents that failed for good."""
        return self.counts.get("failed", 0)

    def __aiter__(self) -> AsyncIterator[DocumentState]:
        return self.store.documents(self.run_id)

    def __iter__(self) -> Iterator[DocumentState]:
        return _in_turn(self.store, self.store.documents(self.run_id), "async for document in report")

    def failures(self) -> Iterator[DocumentState]:
        """The failed documents."""
        return (document for document in self if document.status == "failed")

    def dead_letters(self) -> Iterator[DeadLetter]:
        """Why documents failed for good, with tracebacks, the oldest first.

        In a running event loop, iterate over `report.store.dead_letters(report.run_id)` with `async for`.
        """
        alternative = "async for letter in report.store.dead_letters(report.run_id)"
        return _in_turn(self.store, self.store.dead_letters(self.run_id), alternative)

    def raise_on_failure(self) -> None:
        """Raise FailedDocumentsError if a document has failed."""
        if not self.failed:
            return
        reasons: list[str] = []
        for document in self.failures():
            reasons.append(f"{document.path}: {document.error}")
            if len(reasons) == _SHOWN:
                break
        more = f"\n… and {self.failed - len(reasons)} more" if self.failed > len(reasons) else ""
        listed = "\n".join(reasons)
        raise FailedDocumentsError(
            f"{self.failed} of {self.total} documents of run {self.run_id!r} failed:\n{listed}{more}"
        )

    def total_cost(self) -> Decimal:
        """US dollars that models have cost."""
        return sum((document.cost for document in self), Decimal(0))

    def write_html(self, path: Path | str, *, folder: Path | str = "", pictures: int = MOST_PICTURES) -> None:
        """As `awrite_html`, and wait for the end. Raises MisconfiguredError in an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(self.awrite_html(path, folder=folder, pictures=pictures))
            return
        raise MisconfiguredError("an event loop is running here; write: await report.awrite_html(…)")

    async def awrite_html(
        self, path: Path | str, *, folder: Path | str = "", pictures: int = MOST_PICTURES
    ) -> None:
        """Write the report as one HTML file, for a browser: counts, times, costs, and what failed and why.

        It replaces what is at `path`. folder: from which the paths of documents start. pictures: of so many
        failed documents that are files of this machine the first page is drawn, in processes without rights;
        0 for none. Raises MisconfiguredError or ServerError if the file cannot be written, or the store
        cannot be read.
        """
        await write_run_page(Path(path), self._summary, self.store, folder=Path(folder), pictures=pictures)

    def _repr_html_(self) -> str:
        return build_short_report(self._summary)

    @property
    def _summary(self) -> RunSummary:
        return RunSummary(self.run, self.counts, self.seconds, self.is_interrupted)

    def __str__(self) -> str:
        counts = ", ".join(
            f"{count} {status.replace('_', ' ')}" for status, count in sorted(self.counts.items()) if count
        )
        left = "; resume it to go on" if self.is_interrupted else ""
        return f"run {self.run_id}: {counts or 'no document'} in {self.seconds:.1f} s{left}"


def _in_turn(store: StateStore, values: AsyncIterator[Value], alternative: str) -> Iterator[Value]:
    """The content of the store, one entry after the other; then it is closed, until it is asked again.

    alternative: what to write where an event loop is running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise MisconfiguredError(f"an event loop is running here; write: {alternative}")
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    value = runner.run(_next_of(values))
                except StopAsyncIteration:
                    return
                yield value
        finally:
            runner.run(store.close())


async def _next_of(values: AsyncIterator[Value]) -> Value:
    return await anext(values)
