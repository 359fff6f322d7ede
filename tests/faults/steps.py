"""A pipeline that does what the document says, so that every process does the same with it."""

import asyncio
import io
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from docmill.errors import CorruptError
from docmill.model.document import Document, Page, Part, Usage, Words
from docmill.model.result import Classification, Evidence, Extraction, Schema, Verdict
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, PartFile, Understood
from docmill.reading.convert import LocalConverter
from docmill.reading.engines.engine import PageRequest
from docmill.schemas.types import Invoice
from docmill.understanding.router import GateRouter
from docmill.workers.pool import Pool
from faults.control import stop_at
from support.scripted_steps import AtOnceError


def paper(name: str, **orders: Any) -> bytes:  # noqa: ANN401  whatever JSON takes
    """A document that is obeyed.

    `work_s` to take, `error` to raise, `in_child` to be read in the pool, `holds` names of papers in it,
    `fatal`: it kills its worker.
    """
    return json.dumps({"name": name, **orders}).encode()


SCAN_START = b"II*\0"
STOPPING_PAGE = 30


def scan(page_count: int) -> bytes:
    """A TIFF of small pages."""
    frames = [Image.new("L", (40, 30), shade) for shade in range(page_count)]
    file = io.BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    return file.getvalue()


@dataclass
class StoppingReader:
    """`PageReader` that notes the pages that it recognises beside `control`, and stops at one of them."""

    control: str
    name: str = "stopping"
    at_once: int = 1

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        assert so_far is None
        if request.number == STOPPING_PAGE:
            await stop_at(self.control, f"at page {STOPPING_PAGE}", os.getpid())
        await asyncio.to_thread(self._note, request.number)
        (page,) = _document(Original(Path(), "", "0" * 64), f"page {request.number}", ()).pages
        return replace(page, number=request.number, source="ocr", engine=self.name)

    def _note(self, number: int) -> None:
        with recognised_by(self.control).open("a") as notes:
            notes.write(f"{os.getpid()} {number}\n")


def recognised_by(control: str | Path) -> Path:
    """Where each page that was recognised is noted after the number of the process."""
    return Path(control).with_name("recognised")


@dataclass
class ObedientConverter:
    """`Converter` that does as the paper says. pool: for papers to be read in a child."""

    control: str
    pool: Pool

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        content = await asyncio.to_thread(original.path.read_bytes)
        if content.startswith(SCAN_START):
            return await LocalConverter(self.pool, readers=[StoppingReader(self.control)]).convert(
                original, pages
            )
        orders = json.loads(content)
        await asyncio.sleep(orders.get("work_s", 0))
        if orders.get("fatal"):
            os.kill(os.getpid(), signal.SIGKILL)
        if orders.get("in_child"):
            await self._stop_in_child(original.path.with_name("pipe"))
        match orders.get("error"):
            case "corrupt":
                raise CorruptError("the paper says that it is broken")
            case "server":
                raise AtOnceError("the paper says that the server is down")
            case _:
                return _document(original, orders["name"], orders.get("holds", ()))

    async def _stop_in_child(self, pipe: Path) -> None:
        """A child reaches nobody: it reads from a pipe until this process is told to let it go on."""
        pid = await self.pool.run(os.getpid, limit_s=60)
        os.mkfifo(pipe)
        reading = asyncio.create_task(self.pool.run(Path.read_bytes, pipe, limit_s=60))
        writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)  # waits for the child to open it
        told = asyncio.create_task(stop_at(self.control, "in the pool's child", pid))
        try:
            await asyncio.wait({reading, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            os.close(writer)
            told.cancel()
        await reading


class PaperUnpacker:
    """`Unpacker` of papers that hold papers."""

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        assert await asyncio.to_thread(original.path.exists)
        files = [PartFile(part, folder / part.name) for part in document.parts]
        for file in files:
            assert file.path is not None
            await asyncio.to_thread(file.path.write_bytes, paper(file.part.name))
        return files


def _document(original: Original, name: str, holds: Sequence[str]) -> Document:
    words = Words(
        texts=[name],
        boxes=np.array([[0.1, 0.1, 0.2, 0.2]], np.float32),
        confidences=np.ones(1, np.float32),
        lines=np.zeros(1, np.int32),
        blocks=np.zeros(1, np.int32),
    )
    page = Page(number=1, width_pt=595, height_pt=842, words=words, source="text", quality=1.0)
    parts = tuple(Part(one, "attachment") for one in holds)
    return Document(original.content_hash, "application/pdf", [page], parts=parts)


class NamingClassifier:
    """`Classifier` whose title is the paper's first word."""

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        return Understood(
            Classification(document_type="invoice", title=document.text.strip() or None, confidence=0.9)
        )


@dataclass
class SigningExtractor:
    """`Extractor` that leaves the number of its process in the result: who wrote it can be told."""

    pid: int

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        assert document.pages
        return Extraction(
            document_type=schema.name,
            data=Invoice(number=str(self.pid), gross_total=Decimal(119)),
            evidence={"number": Evidence(page=1, box=None, text="7", match="exact", confidence=0.9)},
            usage=Usage(input_tokens=10, output_tokens=5, model="scripted", cost=Decimal("0.001")),
        )


class ContentGate:
    """`Gate` that believes everything."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document.pages
        assert extraction.data
        assert schema.fields
        return Verdict(failures=())


def obedient_steps(control: str | Path, pool: Pool) -> Steps:
    """The steps of this process."""
    return Steps(
        converter=ObedientConverter(str(control), pool),
        understander=NamingClassifier(),
        extractor=SigningExtractor(os.getpid()),
        router=GateRouter(ContentGate()),
        unpacker=PaperUnpacker(),
    )
