"""A vault with documents in every state."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from psycopg.types.json import Jsonb

from docmill.model import codec
from docmill.model.document import Document
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app

RECEIPT = """
Corner Bakery                                   2026-11-03
Bread                                               4.50
Total                                              12.90 EUR
"""


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
def app(service: Service, renderer: PaintedPages, settings: Settings) -> FastAPI:
    return create_app(service, renderer, settings)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


Add = Callable[..., Awaitable[UUID]]


@pytest.fixture
def add(service: Service) -> Add:
    """Adds a document whose processing has just begun; gives its id."""

    async def add_document(name: str = "receipt.png", content: bytes | None = None) -> UUID:
        accepted = await service.intake.accept(
            _chunks(content or name.encode()), tenant_id=service.default_tenant_id, file_name=name
        )
        return accepted.document_id

    return add_document


@pytest.fixture
def finish(service: Service) -> Callable[..., Awaitable[None]]:
    """Ends the processing of a document, as a worker would."""

    async def finish_ingestion(document_id: UUID, **columns: object) -> None:
        values: dict[str, object] = {
            "status": "completed",
            "classification": {
                "document_type": "receipt",
                "title": "Corner Bakery",
                "document_date": "2026-11-03",
            },
            "structured_data": None,
            "evidence": None,
            "suggestions": None,
            "verdict": None,
            "valid_structured_data": True,
            "error_code": None,
            "error_message": None,
            "transcription_file_path": None,
            "preprocessed_file_path": None,
            "transcription_quality_score": 0.93,
            "extraction_reason": None,
            "media_type": "image/png",
            "page_count": 1,
            "text": None,
            "pipeline_fingerprint": await service.fingerprint.now(),
            **columns,
        }
        plain = {key: Jsonb(value) if isinstance(value, dict) else value for key, value in values.items()}
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                "UPDATE document SET media_type = %(media_type)s, page_count = %(page_count)s,"
                " text = coalesce(%(text)s, text) WHERE id = %(id)s",
                {**plain, "id": document_id},
            )
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = %(status)s, extraction_reason = %(extraction_reason)s,
                       classification = %(classification)s,
                       structured_data = %(structured_data)s, evidence = %(evidence)s, verdict = %(verdict)s,
                       suggestions = %(suggestions)s,
                       valid_structured_data = %(valid_structured_data)s, error_code = %(error_code)s,
                       error_message = %(error_message)s,
                       transcription_file_path = %(transcription_file_path)s,
                       preprocessed_file_path = %(preprocessed_file_path)s,
                       transcription_quality_score = %(transcription_quality_score)s,
                       pipeline_fingerprint = %(pipeline_fingerprint)s,
                       attempt_count = 1, started_at = created_at, completed_at = clock_timestamp()
                 WHERE document_id = %(id)s AND status = 'in-progress'
                """,
                {**plain, "id": document_id},
            )
        service.feed.announce()

    return finish_ingestion


@pytest.fixture
def read(
    service: Service, add: Add, finish: Callable[..., Awaitable[None]], make_document: Callable[..., Document]
) -> Callable[..., Awaitable[UUID]]:
    """Adds a receipt that was read: three values, one of them unsure, one computed, and two line items."""

    async def read_receipt(name: str = "receipt.png", **columns: object) -> UUID:
        document_id = await add(name)
        document = make_document(RECEIPT, "Second page\nNothing to see")
        path = f"transcriptions/{document_id}"
        await service.blobs.put_once(path, codec.dumps(document))
        await finish(
            document_id,
            **{
                "page_count": 2,
                "transcription_file_path": path,
                "structured_data": {
                    "currency": "EUR",
                    "gross_total": "12.90",
                    "seller": {"name": "Corner Bakery", "address": None},
                    "issue_date": "2026-11-03",
                    "lines": [{"description": "Bread", "net_amount": "4.50"}, {"description": "Salt"}],
                },
                "evidence": {
                    "currency": _found("EUR", 0.99, (0.6, 0.5, 0.65, 0.55)),
                    "gross_total": _found("12.90", 0.95, (0.5, 0.5, 0.58, 0.55)),
                    "seller.name": _found("Corner Bakery", 0.8, (0.05, 0.1, 0.3, 0.15)),
                    "issue_date": _found("2026-11-03", 0.5, (0.5, 0.1, 0.6, 0.15), page=2),
                    "lines[0].description": _found("Bread", 0.92, (0.05, 0.3, 0.1, 0.35)),
                    "lines[0].net_amount": _found("4.50", 0.91, (0.5, 0.3, 0.55, 0.35)),
                    "lines[1].description": _found(None, 1.0, None, page=None, match="computed"),
                },
                **columns,
            },
        )
        return document_id

    return read_receipt


def _found(
    text: str | None,
    confidence: float,
    box: tuple[float, ...] | None,
    *,
    page: int | None = 1,
    match: str = "exact",
) -> dict[str, Any]:
    return {
        "page": page,
        "box": list(box) if box else None,
        "text": text,
        "match": match,
        "confidence": confidence,
    }


@pytest.fixture
def small_files(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vault takes files of ten bytes at most."""
    monkeypatch.setattr(service.intake, "_max_bytes", 10)


@pytest.fixture
def hold(service: Service) -> Callable[..., Awaitable[None]]:
    """Notes what a document holds: ids of documents by name, or the sentence that says why there is none."""

    async def hold_parts(
        whole: UUID, parts: Mapping[str, UUID | str], *, kind: str = "attachment", pages: int | None = None
    ) -> None:
        async with service.database.tenant(service.default_tenant_id) as conn:
            for position, (name, part) in enumerate(parts.items(), 1):
                is_document = isinstance(part, UUID)
                await conn.execute(
                    """
                    INSERT INTO part (tenant_id, parent_id, position, child_id, kind, name, first_page,
                                      last_page, problem, root_ingestion_id)
                    VALUES (%(tenant)s, %(whole)s, %(position)s, %(child)s, %(kind)s, %(name)s, %(first)s,
                            %(last)s, %(problem)s, gen_random_uuid())
                    """,
                    {
                        "tenant": service.default_tenant_id,
                        "whole": whole,
                        "position": position,
                        "child": part if is_document else None,
                        "kind": kind,
                        "name": name,
                        "first": None if pages is None else pages * (position - 1) + 1,
                        "last": None if pages is None else pages * position,
                        "problem": None if is_document else part,
                    },
                )

    return hold_parts
