from collections.abc import Callable

import numpy as np
import pytest

from docmill.model.document import Document, Page, Words
from docmill.model.result import Extraction, Schema
from docmill.ports import Gate
from docmill.schemas.registry import REGISTRY
from docmill.testing.steps import FakeExtractor, FakeGate
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import extract
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.types.classifier import classify

_EMPTY = Document("0" * 64, "application/pdf", [])
_BLANK = Document(
    "1" * 64,
    "image/png",
    [Page(number=1, width_pt=100, height_pt=100, words=Words.none(), source="none", quality=0)],
)
_ONE_WORD = Document(
    "2" * 64,
    "image/png",
    [
        Page(
            number=1,
            width_pt=100,
            height_pt=100,
            words=Words(
                ["Invoice"],
                np.array([[0.1, 0.1, 0.3, 0.2]], np.float32),
                np.ones(1, np.float32),
                np.zeros(1, np.int32),
                np.zeros(1, np.int32),
            ),
            source="ocr",
            quality=0.9,
        )
    ],
)
DOCUMENTS = pytest.mark.parametrize("document", [_EMPTY, _BLANK, _ONE_WORD])


EXTRACT = pytest.mark.parametrize("function", [extract_by_rules, extract_built_in, extract])


@DOCUMENTS
def test_every_document_gets_a_known_type(document: Document) -> None:
    classification = classify(document)

    assert classification.document_type in REGISTRY
    assert 0 <= classification.confidence <= 1


@DOCUMENTS
def test_the_same_document_gets_the_same_answer(document: Document) -> None:
    assert classify(document) == classify(document)


@DOCUMENTS
@EXTRACT
@pytest.mark.parametrize("document_type", REGISTRY)
def test_the_data_has_the_schema_of_the_documents_type(
    function: Callable[[Document, Schema], Extraction], document: Document, document_type: str
) -> None:
    extraction = function(document, REGISTRY[document_type])

    assert extraction.document_type == document_type
    assert isinstance(extraction.data, REGISTRY[document_type].fields)
    assert extraction.reason


class GateContract:
    @pytest.fixture
    def gate(self) -> Gate:
        raise NotImplementedError

    @DOCUMENTS
    async def test_a_document_without_fields_can_pass_if_nothing_is_critical(
        self, gate: Gate, document: Document
    ) -> None:
        extraction = await FakeExtractor().extract(document, REGISTRY["other"])

        assert gate.judge(document, extraction, REGISTRY["other"]).passed


class TestRuleGate(GateContract):
    @pytest.fixture
    def gate(self) -> Gate:
        return RuleGate()


class TestFakeGate(GateContract):
    @pytest.fixture
    def gate(self) -> Gate:
        return FakeGate()
