"""Components of runs on Ray: importable by its actors."""

import asyncio
import threading
from pathlib import Path
from typing import Any

from tests.runs.components import Letter, TextConverter, TextReader

from docmill.errors import MisconfiguredError
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.components.json_files import JsonFilesExporter
from docmill.runs.context import Context
from docmill.runs.policy import RunPolicy
from docmill.runs.running import Pipeline

POLICY = RunPolicy(concurrency=2, lease_s=2.0, backoff_base=0.1)


class SlowExtractor:
    """Takes a moment, and leaves a line in a file of its node's process each time it is called."""

    def __init__(self, folder: Path | None = None, delay_s: float = 0.1, *, has_key: bool = True) -> None:
        self.folder = folder
        self.delay_s = delay_s
        self.has_key = has_key

    async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        self._note(context)
        await asyncio.sleep(self.delay_s)
        if not self.has_key and context.document.ref.key == "letter 9":
            raise MisconfiguredError("the key of the model is missing")
        if context.document.ref.key.endswith("broken"):
            raise ValueError("no letter")
        return schema(sender=document.text)

    def _note(self, context: Context[Any]) -> None:
        if self.folder is None:
            return
        with (self.folder / f"{context.runner}.calls").open("a") as file:
            file.write(f"{context.document.ref.key}\n")


class LockingExtractor(SlowExtractor):
    """Holds what cannot be sent to another process."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def letters_pipeline(folder: Path, *, delay_s: float = 0.1, **parts: Any) -> Pipeline[Letter]:
    calls = folder / "calls"
    calls.mkdir(exist_ok=True, parents=True)
    return Pipeline(
        schema=Letter,
        reader=TextReader(),
        converter=TextConverter(),
        extractor=parts.pop("extractor", None) or SlowExtractor(calls, delay_s),
        exporter=parts.pop("exporter", None) or JsonFilesExporter(folder / "out"),
        policy=POLICY,
        store=str(folder / "runs.sqlite"),
        **parts,
    )


def letters(count: int, *more: str) -> list[Ref]:
    keys = [f"letter {number}" for number in range(count)]
    return [Ref(key, key, version="1") for key in [*keys, *more]]
