"""A runner of a run that several share: `shared_run.py NAME DATABASE_URL FOLDER COUNT LEASE_S [begin]`.

Two runners wait for each other in FOLDER before they process their first document.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import psycopg
from tests.runs.components import Letter, text_pipeline

from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.components.postgres import PostgresExporter
from docmill.runs.context import Context
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import ExtractionResult

RUNNERS = 2


class NamingExtractor:
    """The sender is the runner. Takes a moment, so that every runner gets something to do."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.is_alone = True

    async def wait_for_the_other(self) -> None:
        (self.folder / self.name).touch()
        while self.is_alone:
            await asyncio.sleep(0.01)
            self.is_alone = len(list(self.folder.iterdir())) < RUNNERS

    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        await self.wait_for_the_other()
        await asyncio.sleep(0.03)
        return schema(sender=self.name)


class CountingExporter(PostgresExporter):
    """Adds a row to the table `exports` for each document, however often that is exported."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url)
        self.name = name
        self.sources: list[str] = []

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        await super().export(document, data, context)
        self.sources.append(context.document.ref.key)

    async def flush(self) -> None:
        sources, self.sources = self.sources, []
        await super().flush()
        async with await psycopg.AsyncConnection.connect(self.config.url, autocommit=True) as connection:
            await connection.execute(
                "INSERT INTO exports (source, runner) SELECT unnest(%s::text[]), %s", [sources, self.name]
            )


def main(name: str, url: str, folder: Path, count: int, lease_s: float, *, begins: bool) -> None:
    pipeline = text_pipeline(
        extractor=NamingExtractor(name, folder),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        exporter=CountingExporter(url, name),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        policy=RunPolicy(concurrency=4, lease_s=lease_s),
    )
    if begins:
        inputs = [Ref(f"document {number}", f"{number}", version="1") for number in range(count)]
        report = pipeline.run(inputs, run_id="run", store=url)
    else:
        report = pipeline.resume("run", lists=False, store=url)
    sys.stdout.write(f"{report}\n")


if __name__ == "__main__":
    _, name, url, folder, count, lease_s, *begins = sys.argv
    main(name, url, Path(folder), int(count), float(lease_s), begins=bool(begins))
