"""A run in a process of its own, to be killed: `killed_run.py STORE OUT COUNT`. Begins, or goes on."""

import asyncio
import sys
from typing import Any

from tests.runs.components import Letter, text_pipeline

from docmill.errors import RunExistsError
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.context import Context
from docmill.runs.policy import RunPolicy


class BusyExtractor:
    """Takes a moment, so that a kill finds documents in every stage."""

    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        await asyncio.sleep(0.002)
        return schema(sender=document.text)


def main(store: str, out: str, count: int) -> None:
    pipeline = text_pipeline(
        extractor=BusyExtractor(),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        exporter=JsonLinesExporter(out),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        policy=RunPolicy(concurrency=8, lease_s=0.6),
    )
    inputs = [Ref(f"document {number}", f"{number}", version="1") for number in range(count)]
    try:
        report = pipeline.run(inputs, run_id="run", store=store)
    except RunExistsError:
        report = pipeline.resume("run", inputs, store=store)
    sys.stdout.write(f"{report}\n")
    sys.exit(130 if report.is_interrupted else 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
