"""Understanding in the processes of a pool: it takes the CPU, which the event loop cannot spare."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from docmill.model.codec import loads
from docmill.model.document import Box, Document, Usage
from docmill.model.result import Classification, Evidence, Extraction, Failure, Schema
from docmill.model.steps_taken import StepTaken
from docmill.ports import Extractor, Original
from docmill.resilience.off_loop import RESULT_CHARACTERS, off_loop
from docmill.schemas.filling import filled
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import portable, unpacked
from docmill.workers.pool import Pool

LIMIT_S = 60.0


class PooledClassifier:
    """`Classifier` by what was learned and by rule, in a process of the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def classify(self, document: Document, original: Original | None = None) -> Classification:
        """See `Classifier.classify`. Raises TimeLimitError, CrashedError, TooLargeError."""
        del original
        text = await self._pool.run(_classified, document, limit_s=LIMIT_S)
        return Classification.model_validate_json(text)


class PooledExtractor:
    """`Extractor` by rule and by what was learned, in a process of the pool.

    models: what was learned of the user's own schemas, by their names, as text; asked for each document, in
    a thread, since it may look at files.
    """

    def __init__(self, pool: Pool, models: Mapping[str, str] | None = None) -> None:
        self._pool = pool
        self._models = models or {}

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`. Raises TimeLimitError, CrashedError, TooLargeError."""
        del original
        text = await self._pool.run(
            _extracted,
            document,
            portable(schema),
            await _model_of(schema, self._models),
            schema.learned,
            limit_s=LIMIT_S,
        )
        return await off_loop(_extraction, text, schema, size=len(text) / RESULT_CHARACTERS)


class PooledLessons:
    """Makes lessons of reviewed documents, in processes of the pool. models: as of `PooledExtractor`."""

    def __init__(self, pool: Pool, models: Mapping[str, str] | None = None) -> None:
        self._pool = pool
        self._models = models or {}

    async def lesson(self, transcription: bytes, schema: Schema, said: Mapping[str, Any]) -> dict[str, Any]:
        """What a document teaches. transcription: as kept. said: name, values by path, places by path.

        Raises TimeLimitError, CrashedError, TooLargeError.
        """
        text = await self._pool.run(
            _lesson,
            transcription,
            portable(schema),
            await _model_of(schema, self._models),
            json.dumps(said),
            limit_s=LIMIT_S,
        )
        return json.loads(text)

    async def anchors(self, schema: Schema, shown: Sequence[tuple[bytes, Mapping[str, Any]]]) -> str:
        """Where documents of one layout have their values. shown: transcriptions and lessons, latest first.

        Raises TimeLimitError, CrashedError, TooLargeError.
        """
        packed = [(transcription, json.dumps(content)) for transcription, content in shown]
        return await self._pool.run(_anchors, portable(schema), packed, limit_s=LIMIT_S)


async def _model_of(schema: Schema, models: Mapping[str, str]) -> str | None:
    return await asyncio.to_thread(models.get, schema.name) if models else None


# JSON and not objects: what comes out of a process that saw a hostile document is checked before it is used.
# The rules' vocabularies take a second to load, which only the processes that use them should spend.


def _extraction(text: str, schema: Schema) -> Extraction:
    content = json.loads(text)
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, content["data"]),
        evidence={path: Evidence.model_validate(proof) for path, proof in content["evidence"].items()},
        usage=Usage.model_validate(content["usage"]),
        steps=tuple(StepTaken.model_validate(step) for step in content["steps"]),
        failures=tuple(Failure.model_validate(failure) for failure in content["failures"]),
    )


def _classified(document: Document) -> str:
    from docmill.understanding.einvoice.extractor import EInvoiceClassifier  # noqa: PLC0415
    from docmill.understanding.types.classifier import LearnedClassifier  # noqa: PLC0415

    return asyncio.run(EInvoiceClassifier(LearnedClassifier()).classify(document)).model_dump_json()


def _extracted(document: Document, packed: str, model: str | None, learned: str) -> str:
    from docmill.sections.splitting import sections  # noqa: PLC0415
    from docmill.understanding.corrections.extractor import TaughtExtractor  # noqa: PLC0415
    from docmill.understanding.einvoice.extractor import EInvoiceExtractor  # noqa: PLC0415
    from docmill.understanding.multi_document_check import OneDocumentExtractor  # noqa: PLC0415

    schema = replace(unpacked(packed), learned=learned)
    extractor = OneDocumentExtractor(EInvoiceExtractor(TaughtExtractor(_untaught(schema, model))), sections)
    return asyncio.run(extractor.extract(document, schema)).model_dump_json()


def _untaught(schema: Schema, model: str | None) -> Extractor:
    """Who reads by what no person of the tenant has said."""
    from docmill.understanding.receipts.extractor import LearnedExtractor  # noqa: PLC0415
    from docmill.understanding.user_schemas.extractor import OwnExtractor  # noqa: PLC0415
    from docmill.understanding.user_schemas.learned import loads as model_of  # noqa: PLC0415

    if schema.name in REGISTRY and schema.fields is REGISTRY[schema.name].fields:
        return LearnedExtractor()
    return OwnExtractor(model_of(model) if model else None)


def _lesson(transcription: bytes, packed: str, model: str | None, said: str) -> str:
    from docmill.understanding.corrections.from_reviews import Said, precedent  # noqa: PLC0415

    schema, document, content = unpacked(packed), loads(transcription), json.loads(said)
    places = {path: (page, Box(*box)) for path, (page, box) in content["places"].items()}
    read = asyncio.run(_untaught(schema, model).extract(document, schema))
    made = precedent(document, Said(content["name"], content["values"], places), read)
    return json.dumps(made.content())


def _anchors(packed: str, shown: list[tuple[bytes, str]]) -> str:
    from docmill.understanding.corrections.from_reviews import Shown, anchors  # noqa: PLC0415
    from docmill.understanding.corrections.precedents import Precedent, anchors_text  # noqa: PLC0415

    documents = [
        Shown(loads(transcription), Precedent.of_content(json.loads(content)))
        for transcription, content in shown
    ]
    model, sources = anchors(unpacked(packed), documents)
    return anchors_text(model.worn(), sources) if model.layouts else ""
