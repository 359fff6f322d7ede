"""Understanding in the processes of a pool, because it would block the event loop."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from docmill.model.codec import loads
from docmill.model.corrections import Correction, Corrections, LayoutWeights, ReviewedValues
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Evidence, Extraction, Failure, Schema, StepTaken, Suggestion
from docmill.ports import Original, Understood
from docmill.resilience.concurrency import RESULT_CHARACTERS, off_loop
from docmill.schemas.filling import filled
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import portable, unpacked
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.understanding.user_schemas.schema_model import SchemaModel

LIMIT_S = 60.0


class PooledUnderstanding:
    """`Understander`, `Extractor` and `Corrector` in a process of the pool: each call is one task there.

    schema_models: trained models of the user's own schemas, as text, by the name of their schema. They are
    looked up for each document, in a thread, since the mapping may read files. Every method raises
    TimeLimitError, CrashedError or TooLargeError.
    """

    def __init__(self, pool: Pool, schema_models: Mapping[str, str] | None = None) -> None:
        self._pool = pool
        self._schema_models = schema_models or {}

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        """See `Understander.understand`."""
        del original
        by_type = {name: schemas.get(name, schemas["other"]) for name in (*REGISTRY, *schemas)}
        custom = {name: schema for name, schema in by_type.items() if schema is not REGISTRY.get(name)}
        by_name = {schema.name: await _pack(schema, self._schema_models) for schema in custom.values()}
        packed = {document_type: by_name[schema.name] for document_type, schema in custom.items()}
        text = await self._pool.run(_understand, document, packed, tuple(tags), limit_s=LIMIT_S)
        return await off_loop(_parse_understood, text, schemas, size=len(text) / RESULT_CHARACTERS)

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`."""
        del original
        packed = await _pack(schema, self._schema_models)
        text = await self._pool.run(_extract, document, packed, limit_s=LIMIT_S)
        return await off_loop(_parse_extraction, text, schema, size=len(text) / RESULT_CHARACTERS)

    async def correct(
        self, document: Document, schema: Schema, read: Extraction, corrections: Corrections
    ) -> Extraction:
        """See `Corrector.correct`."""
        packed = await _pack(schema, self._schema_models)
        text = await self._pool.run(
            _correct, document, packed, read.model_dump_json(), corrections, limit_s=LIMIT_S
        )
        corrected = await off_loop(_parse_extraction, text, schema, size=len(text) / RESULT_CHARACTERS)
        return corrected.model_copy(update={"model_error": read.model_error})


class PooledCorrectionMaker:
    """Makes corrections of reviewed documents in processes of the pool.

    schema_models: see `PooledUnderstanding`.

    Every method raises TimeLimitError, CrashedError or TooLargeError.
    """

    def __init__(self, pool: Pool, schema_models: Mapping[str, str] | None = None) -> None:
        self._pool = pool
        self._schema_models = schema_models or {}

    async def correction(self, transcription: bytes, schema: Schema, reviewed: ReviewedValues) -> Correction:
        """See `CorrectionMaker.correction` of the service."""
        packed = await _pack(schema, self._schema_models)
        text = await self._pool.run(_make_correction, transcription, packed, reviewed, limit_s=LIMIT_S)
        return Correction.of_content(json.loads(text))

    async def layout(self, schema: Schema, documents: Sequence[tuple[bytes, Correction]]) -> LayoutWeights:
        """See `CorrectionMaker.layout` of the service."""
        text = await self._pool.run(_fit_layout, portable(schema), list(documents), limit_s=LIMIT_S)
        return LayoutWeights.of_content(json.loads(text))


_PackedSchema = tuple[str, str | None]
"""A schema and its trained model, as text."""


async def _pack(schema: Schema, models: Mapping[str, str]) -> _PackedSchema:
    return portable(schema), await asyncio.to_thread(models.get, schema.name) if models else None


# The children answer in JSON, not in pickled objects: a child that read a hostile document is not trusted.


def _parse_understood(text: str, schemas: Mapping[str, Schema]) -> Understood:
    content = json.loads(text)
    classification = Classification.model_validate_json(content["classification"])
    schema = schemas.get(classification.document_type) or schemas["other"]
    return Understood(classification, _parse_extraction(content["extraction"], schema))


def _parse_extraction(text: str, schema: Schema) -> Extraction:
    content = json.loads(text)
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, content["data"]),
        evidence={path: Evidence.model_validate(proof) for path, proof in content["evidence"].items()},
        suggestions={
            path: tuple(Suggestion.model_validate(suggestion) for suggestion in suggestions)
            for path, suggestions in content["suggestions"].items()
        },
        usage=Usage.model_validate(content["usage"]),
        steps=tuple(StepTaken.model_validate(step) for step in content["steps"]),
        failures=tuple(Failure.model_validate(failure) for failure in content["failures"]),
    )


# The functions below run in the pool. They import late: the vocabularies take a second to load.


def load_vocabularies() -> None:
    """Load what the functions below import, for a process whose children will need it."""
    import_module("docmill.understanding.offline")


def _understand(document: Document, packed: Mapping[str, _PackedSchema], tags: tuple[str, ...]) -> str:
    from docmill.understanding.offline import SchemaWithModel, choose_built_in, understand  # noqa: PLC0415

    def choose_schema(document_type: str) -> SchemaWithModel:
        custom = packed.get(document_type)
        return choose_built_in(document_type) if custom is None else SchemaWithModel(*_unpack(custom))

    classification, extraction = understand(document, choose_schema, tags)
    return json.dumps(
        {"classification": classification.model_dump_json(), "extraction": extraction.model_dump_json()}
    )


def _extract(document: Document, packed: _PackedSchema) -> str:
    from docmill.understanding.offline import extract  # noqa: PLC0415

    return extract(document, *_unpack(packed)).model_dump_json()


def _correct(document: Document, packed: _PackedSchema, read: str, corrections: Corrections) -> str:
    from docmill.understanding.offline import correct  # noqa: PLC0415

    schema, _ = _unpack(packed)
    return correct(document, schema, _parse_extraction(read, schema), corrections).model_dump_json()


def _unpack(packed: _PackedSchema) -> "tuple[Schema, SchemaModel | None]":
    from docmill.understanding.user_schemas.schema_model import loads as model_of  # noqa: PLC0415

    schema, model = packed
    return unpacked(schema), model_of(model) if model else None


def _make_correction(transcription: bytes, packed: _PackedSchema, reviewed: ReviewedValues) -> str:
    from docmill.understanding.corrections.apply import make_correction  # noqa: PLC0415
    from docmill.understanding.offline import read_pages  # noqa: PLC0415

    document = loads(transcription)
    read = read_pages(document, *_unpack(packed))
    return json.dumps(make_correction(document, reviewed, read).content())


def _fit_layout(packed: str, documents: list[tuple[bytes, Correction]]) -> str:
    from docmill.understanding.corrections.fit import CorrectedDocument, fit_layout  # noqa: PLC0415

    corrected = [
        CorrectedDocument(loads(transcription), correction) for transcription, correction in documents
    ]
    return json.dumps(fit_layout(unpacked(packed), corrected).content())
