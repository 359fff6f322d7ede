"""docmill's own steps as components: they read what `docmill.extract` reads."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont
from pydantic import BaseModel
from tests.runs.components import MemoryExporter

import docmill
from docmill.demo import Sample
from docmill.errors import MisconfiguredError, UnsupportedFileTypeError
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.components import standard
from docmill.runs.components.local import LocalReader
from docmill.runs.components.standard import (
    StandardClassifier,
    StandardConfig,
    StandardConverter,
    StandardConverterConfig,
    StandardExtractor,
    StandardExtractorConfig,
)
from docmill.runs.context import Context, CurrentDocument, context_of_one, set_current
from docmill.runs.definition import Kind
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline
from docmill.runs.stages import opened
from docmill.runs.stores.memory import MemoryStore
from docmill.schemas.registry import REGISTRY
from support.llm_server import serving, spoken


class Bill(BaseModel):
    """A schema of the user's own."""

    invoice_number: str | None = None
    total: Decimal | None = None


class ResultExporter:
    def __init__(self) -> None:
        self.results: dict[str, ExtractionResult[Any]] = {}
        self.types: dict[str, str] = {}

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        del document
        current = context.document
        self.results[current.ref.name] = data
        assert current.classification is not None
        self.types[current.ref.name] = current.classification.document_type


def a_sample(samples: list[Sample], form: str) -> Path:
    return next(
        one.path for one in samples if one.document_type == "invoice" and one.form == form and one.pages == 1
    )


def pipeline(exporter: object, *, schema: type[BaseModel], **parts: Any) -> Pipeline[Any]:
    return Pipeline(
        schema=schema,
        reader=LocalReader(),
        converter=StandardConverter(StandardConverterConfig(workers=1)),
        extractor=StandardExtractor(StandardExtractorConfig(workers=1)),
        exporter=exporter,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        **parts,
    )


@pytest.mark.parametrize("form", ["born-digital", "scan"])
async def test_a_schema_of_the_users_own_is_read_as_by_the_library(samples: list[Sample], form: str) -> None:
    path = a_sample(samples, form)
    exporter = ResultExporter()

    report = await pipeline(exporter, schema=Bill).arun([path], store=MemoryStore())

    report.raise_on_failure()
    expected = await docmill.aextract(path, Bill)
    extracted = exporter.results[path.name]
    assert extracted.data == expected.data
    assert extracted.data != Bill()
    assert extracted.evidence == expected.evidence
    assert extracted.verdict == expected.verdict
    assert not standard._pools  # pyright: ignore[reportPrivateUsage]


async def test_documents_are_routed_to_the_types_that_docmill_knows(samples: list[Sample]) -> None:
    paths = [
        a_sample(samples, "born-digital"),
        next(one.path for one in samples if one.document_type == "receipt"),
    ]
    exporter = ResultExporter()
    kinds = {name: Kind(schema=REGISTRY[name].fields) for name in ("invoice", "receipt")}

    report = await pipeline(
        exporter,
        schema=REGISTRY["other"].fields,
        kinds=kinds,
        classifier=StandardClassifier(StandardConfig(workers=1)),
    ).arun(paths, store=MemoryStore())

    report.raise_on_failure()
    for path in paths:
        expected = await docmill.aprocess_file(path)
        extracted = exporter.results[path.name]
        assert expected.extraction is not None
        assert exporter.types[path.name] == expected.classification.document_type
        assert extracted.data == expected.extraction.data
        assert extracted.evidence == expected.extraction.evidence
        assert extracted.verdict == expected.verdict


async def test_pages_that_were_recognised_are_not_recognised_again(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    pages = [a_picture(f"Page {number}") for number in range(1, 10)]
    pages[0].save(path, save_all=True, append_images=pages[1:], resolution=100)
    journal = CountingJournal()
    current = CurrentDocument(Ref(str(path), path.name), DocumentBytes(path.name, path=path).compute_hash())
    current.journal = journal
    converter = StandardConverter(StandardConverterConfig(workers=1))
    context = Context("run", None, fingerprint="f")
    set_current(current)
    async with opened(converter, context):
        killed = asyncio.create_task(converter.convert(DocumentBytes(path.name, path=path), context))
        await journal.has_pages.wait()
        killed.cancel()
        await asyncio.wait([killed])
        kept = dict(journal.results)
        document = await converter.convert(DocumentBytes(path.name, path=path), context)
    assert len(kept) == 1
    assert journal.results == kept
    assert journal.puts == 1
    assert [page.text.strip() for page in document.pages] == [f"Page {number}" for number in range(1, 10)]
    assert current.extra_s > 0


def a_picture(text: str) -> Image.Image:
    picture = Image.new("L", (400, 200), 255)
    ImageDraw.Draw(picture).text((60, 70), text, fill=0, font=ImageFont.load_default(40))
    return picture


class CountingJournal:
    """A journal in memory; each page that is recognised is put once."""

    def __init__(self) -> None:
        self.results: dict[str, bytes] = {}
        self.puts = 0
        self.has_pages = asyncio.Event()

    async def get(self, step: str) -> bytes | None:
        return self.results.get(step)

    async def put(self, step: str, result: bytes) -> None:
        self.puts += 1
        self.results.setdefault(step, result)
        self.has_pages.set()

    async def replace(self, step: str, result: bytes) -> None:
        self.results[step] = result

    async def entries(self, folder: str) -> list[str]:
        return sorted(step for step in self.results if step.startswith(f"{folder}/"))

    async def remove(self, step: str) -> None:
        self.results.pop(step, None)


async def test_components_are_usable_alone_and_share_a_pool(samples: list[Sample]) -> None:
    path = a_sample(samples, "born-digital")
    context = context_of_one()
    converter = StandardConverter(StandardConverterConfig(workers=1))
    extractor = StandardExtractor(StandardExtractorConfig(workers=1))
    with pytest.raises(MisconfiguredError, match="opened first"):
        await converter.convert(DocumentBytes("x", content=b"x"), context)
    async with opened(converter, context), opened(extractor, context):
        assert len(standard._pools) == 1  # pyright: ignore[reportPrivateUsage]
        content = await asyncio.to_thread(path.read_bytes)
        document = await converter.convert(DocumentBytes(path.name, content=content), context)
        extracted = await extractor.extract(document, Bill, context)
    assert extracted.data.total is not None


async def test_a_file_that_cannot_be_read_fails_for_good(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(256)) * 4)
    store = MemoryStore()
    report = await pipeline(MemoryExporter(), schema=Bill).arun([path], run_id="run", store=store)
    assert report.failed == 1
    (letter,) = [letter async for letter in store.dead_letters("run")]
    assert (letter.code, letter.stage, letter.attempts) == (UnsupportedFileTypeError.code, "convert", 1)


async def test_the_models_of_settings_are_asked_and_their_file_changes_the_fingerprint(
    tmp_path: Path,
) -> None:
    blank = tmp_path / "blank.png"
    Image.new("RGB", (400, 300), "white").save(blank)
    settings = tmp_path / "docmill.toml"
    exporter = ResultExporter()
    async with serving() as server:
        text = f"""
            [llm]
            base_url = "{server.url("openai")}"
            [understanding]
            classify = "small"
            [understanding.small]
            model = "own"
            sees = true
            """
        settings.write_text(text)
        server.replies = [
            spoken("openai", {"title": "A sheet", "document_type": "invoice"}),
            spoken("openai", {"number": "R-7"}),
        ]
        asked = Pipeline(
            schema=REGISTRY["invoice"].fields,
            reader=LocalReader(),
            converter=StandardConverter(StandardConverterConfig(workers=1, settings=settings)),
            classifier=StandardClassifier(StandardConfig(workers=1, settings=settings)),
            extractor=StandardExtractor(StandardExtractorConfig(workers=1, settings=settings)),
            exporter=exporter,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        )
        before = asked.fingerprint

        report = await asked.arun([blank], store=MemoryStore())

    report.raise_on_failure()
    assert exporter.types == {"blank.png": "invoice"}
    assert len(server.requests) == 2
    assert all("data:image/jpeg;base64," in request for request in server.requests)
    settings.write_text(text + "\n")
    assert asked.fingerprint != before
    assert not standard._pools  # pyright: ignore[reportPrivateUsage]
