"""Stand-ins for tests and for trying out a pipeline: each gives what it was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from docmill.model.document import Document
from docmill.model.result import Classification, Extraction, Schema, Verdict
from docmill.model.steps_taken import StepTaken
from docmill.ports import Original, Understood
from docmill.schemas.filling import filled


@dataclass(frozen=True, slots=True)
class FakeUnderstander:
    """`Understander` that always says the same, and reads no fields."""

    classification: Classification = field(default_factory=Classification)

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        """See `Understander.understand`."""
        del document, original, schemas, tags
        return Understood(self.classification)


@dataclass(frozen=True, slots=True)
class FakeExtractor:
    """`Extractor` that always finds the same, or nothing where nothing was given."""

    extraction: Extraction | None = None

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`."""
        del document, original
        if self.extraction is not None:
            return self.extraction
        return Extraction(
            document_type=schema.name,
            data=filled(schema.fields, {}),
            evidence={},
            steps=(StepTaken(kind="read", by="fake"),),
        )


@dataclass(frozen=True, slots=True)
class FakeGate:
    """`Gate` that always judges the same."""

    verdict: Verdict = field(default_factory=Verdict)

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """See `Gate.judge`."""
        del document, extraction, schema
        return self.verdict
