"""A service whose steps do nothing, so that benchmarks of the worker measure its protocol alone."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from docmill.model.document import Document, Page, Words
from docmill.model.result import Classification, Extraction, Result, Schema, Verdict
from docmill.pipeline import DocumentIO, Steps, process
from docmill.ports import Judged, Original, PageJournal, Ref, Understood
from docmill.schemas.types import Other
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.processing.lease import Lease
from docmill.service.processing.process import LeaseExporter, LeaseObserver
from docmill.service.store import documents, ingestions
from docmill.service.store.ingestions import Origin


class NoOp:
    """Every step of the pipeline, and its journal. answer_s: how long the model takes to answer."""

    def __init__(self, answer_s: float = 0) -> None:
        self._answer_s = answer_s
        self.answers = 0

    async def read(self, ref: Ref) -> Original:
        return Original(Path("/"), ref.name, ref.key.rpartition("/")[2])

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        page = Page(number=1, width_pt=595, height_pt=842, words=Words.none(), source="text", quality=1.0)
        return Document(content_hash=original.content_hash, media_type="text/plain", pages=[page])

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        return Understood(Classification(title=document.media_type))

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        if self._answer_s:
            await asyncio.sleep(self._answer_s)
        self.answers += 1
        return Extraction(document_type="other", data=Other(), evidence={})

    async def judge(
        self, first: Extraction, document: Document, schema: Schema, original: Original | None = None
    ) -> Judged:
        return Judged(first, Verdict(failures=()))

    async def get(self, step: str) -> bytes | None:
        return None

    async def put(self, step: str, result: bytes) -> None:
        pass

    async def replace(self, step: str, result: bytes) -> None:
        pass

    async def entries(self, folder: str) -> list[str]:
        return []

    async def remove(self, step: str) -> None:
        pass

    async def attempt(self, lease: Lease) -> Result:
        """Process the lease's document by the pipeline that all documents take."""
        steps = Steps(self, self, self, self)
        io = DocumentIO(self, LeaseExporter(lease, "no-op"), self, observer=LeaseObserver(lease))
        return await process(Ref(lease.claim.file_path, lease.claim.file_name), steps, io)


@asynccontextmanager
async def service_on(folder: Path, **worker: Any) -> AsyncGenerator[Service]:
    """Open a service on an embedded PostgreSQL of its own with its default durability."""
    settings = Settings(data_dir=folder)
    settings = settings.model_copy(update={"worker": settings.worker.model_copy(update=worker)})
    async with open_service(settings) as service:
        yield service


async def fill(service: Service, count: int) -> None:
    """Accept `count` documents without files, each in the queue."""
    tenant_id = service.default_tenant_id
    async with service.database.tenant(tenant_id) as conn:
        for number in range(count):
            content_hash = sha256(str(number).encode()).hexdigest()
            document_id, *_ = await documents.upsert(
                conn,
                tenant_id=tenant_id,
                content_hash=content_hash,
                byte_size=1,
                file_name=f"{number}.txt",
                file_path=f"documents/{tenant_id}/{content_hash}",
            )
            ingestion_id = await ingestions.begin(
                conn, tenant_id=tenant_id, document_id=document_id, origin=Origin()
            )
            await service.sender.send_in(conn, [str(ingestion_id)])
