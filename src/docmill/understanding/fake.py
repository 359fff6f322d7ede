"""Stand-ins for tests and for trying out a pipeline: each gives what it was given."""

from dataclasses import dataclass, field

from docmill.model import Classification, Document, Extraction, Verdict
from docmill.schemas.registry import REGISTRY


@dataclass(frozen=True, slots=True)
class FakeClassifier:
    """`Classifier` that always says the same."""

    classification: Classification = field(default_factory=Classification)

    async def classify(self, document: Document) -> Classification:
        """See `Classifier.classify`."""
        del document
        return self.classification


@dataclass(frozen=True, slots=True)
class FakeExtractor:
    """`Extractor` that always finds the same, or nothing where nothing was given."""

    extraction: Extraction | None = None

    async def extract(self, document: Document, classification: Classification) -> Extraction:
        """See `Extractor.extract`."""
        del document
        if self.extraction is not None:
            return self.extraction
        kind = classification.document_type
        return Extraction(document_type=kind, data=REGISTRY[kind].fields(), evidence={}, reason="fake")


@dataclass(frozen=True, slots=True)
class FakeGate:
    """`Gate` that always judges the same."""

    verdict: Verdict = field(default_factory=Verdict)

    def judge(self, document: Document, extraction: Extraction) -> Verdict:
        """See `Gate.judge`."""
        del document, extraction
        return self.verdict
