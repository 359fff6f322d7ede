"""Understanding in the processes of a pool: it takes the CPU, which the event loop cannot spare."""

import asyncio
import json
from collections.abc import Mapping

from docmill.model import Classification, Document, Evidence, Extraction, Failure, Schema, Usage
from docmill.reading.pool import Pool
from docmill.schemas.filling import filled
from docmill.schemas.own import portable, unpacked
from docmill.schemas.registry import REGISTRY

LIMIT_S = 60.0


class PooledClassifier:
    """`Classifier` by rule, in a process of the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def classify(self, document: Document) -> Classification:
        """See `Classifier.classify`. Raises TimeLimitError, CrashedError, TooLargeError."""
        text = await self._pool.run(_classified, document, limit_s=LIMIT_S)
        return Classification.model_validate_json(text)


class PooledExtractor:
    """`Extractor` by rule and by what was learned, in a process of the pool.

    models: what was learned of the user's own schemas, by their names, as text.
    """

    def __init__(self, pool: Pool, models: Mapping[str, str] | None = None) -> None:
        self._pool = pool
        self._models = models or {}

    async def extract(self, document: Document, schema: Schema) -> Extraction:
        """See `Extractor.extract`. Raises TimeLimitError, CrashedError, TooLargeError."""
        text = await self._pool.run(
            _extracted, document, portable(schema), self._models.get(schema.name), limit_s=LIMIT_S
        )
        content = json.loads(text)
        return Extraction(
            document_type=schema.name,
            data=filled(schema.fields, content["data"]),
            evidence={path: Evidence.model_validate(proof) for path, proof in content["evidence"].items()},
            usage=Usage.model_validate(content["usage"]),
            reason=content["reason"],
            failures=tuple(Failure.model_validate(failure) for failure in content["failures"]),
        )


# JSON and not objects: what comes out of a process that saw a hostile document is checked before it is used.
# The rules' vocabularies take a second to load, which only the processes that use them should spend.


def _classified(document: Document) -> str:
    from docmill.understanding.classifier import RuleClassifier  # noqa: PLC0415
    from docmill.understanding.einvoice.extractor import EInvoiceClassifier  # noqa: PLC0415

    return asyncio.run(EInvoiceClassifier(RuleClassifier()).classify(document)).model_dump_json()


def _extracted(document: Document, packed: str, model: str | None) -> str:
    from docmill.understanding.einvoice.extractor import EInvoiceExtractor  # noqa: PLC0415
    from docmill.understanding.learned.extractor import LearnedExtractor  # noqa: PLC0415
    from docmill.understanding.own.extractor import OwnExtractor  # noqa: PLC0415
    from docmill.understanding.own.learned import loads  # noqa: PLC0415

    schema = unpacked(packed)
    known = schema.name in REGISTRY and schema.fields is REGISTRY[schema.name].fields
    own = OwnExtractor(loads(model) if model else None)
    extractor = EInvoiceExtractor(LearnedExtractor() if known else own)
    return asyncio.run(extractor.extract(document, schema)).model_dump_json()
