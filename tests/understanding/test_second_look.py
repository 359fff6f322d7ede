"""What another look at a place tells of the value read there."""

import asyncio
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docmill.model.document import Box, Document, Words
from docmill.model.result import Evidence, Extraction, StepTaken
from docmill.ports import Original
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.gate import RuleGate
from docmill.understanding.locate.evidence import located
from docmill.understanding.router import GateRouter
from docmill.understanding.second_readers import MOST, SecondLook

Typeset = Callable[..., Document]
INVOICE = REGISTRY["invoice"]
ORIGINAL = Original(Path("scan.png"), "scan.png", "0" * 64)
PAGE = """
Harbour Ltd                       Invoice R-1
12 Quay Street                    Date 05.03.2024
                     Net           20.00
                     VAT 20 %       4.00
                     Total         24.60 EUR
"""
READ: dict[str, Any] = {
    "number": "R-1",
    "issue_date": "2024-03-05",
    "seller": {"name": "Harbour Ltd"},
    "net_total": "20.00",
    "tax_total": "4.00",
    "gross_total": "24.60",
}
SUMS = ("net_total", "tax_total", "gross_total")


class Pages:
    """Reads what it is told at the places of values, by their text."""

    def __init__(self, again: Mapping[str, str], document: Document) -> None:
        self._again = again
        self._document = document
        self.asked = 0

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        assert original is ORIGINAL
        assert document is self._document
        self.asked += 1
        words = document.pages[page_number - 1].words
        inside = [
            text
            for text, box in zip(words.texts, words.boxes, strict=True)
            if region.x0 <= box[0] + 0.001 and box[2] - 0.001 <= region.x1
            if region.y0 <= box[1] + 0.001 and box[3] - 0.001 <= region.y1
        ]
        text = self._again.get(" ".join(inside), " ".join(inside))
        return None if text == "-" else _words(text.split())


def _words(texts: list[str]) -> Words:
    count = len(texts)
    zeros = np.zeros(count, np.int32)
    return Words(texts, np.zeros((count, 4), np.float32), np.ones(count, np.float32), zeros, zeros)


@pytest.fixture
def document(typeset: Typeset) -> Document:
    return typeset(PAGE, source="ocr")


def _read(document: Document, **changes: float) -> Extraction:
    data = Invoice.model_validate(READ)
    evidence = located(document, data, INVOICE)
    sure = {path: changes.get(path.rpartition(".")[2], 0.95) for path in evidence}
    return Extraction(
        document_type="invoice",
        data=data,
        evidence={path: one.model_copy(update={"confidence": sure[path]}) for path, one in evidence.items()},
        steps=(StepTaken(kind="read", by="rules"),),
    )


async def test_what_both_looks_read_alike_is_believed_more(document: Document) -> None:
    reread = await SecondLook(Pages({}, document)).reread(
        document, _read(document), ["seller.name", "number"], original=ORIGINAL
    )

    assert reread.alike == ["seller.name", "number"]
    assert reread.extraction.evidence["seller.name"].confidence > 0.95
    assert reread.extraction.evidence["net_total"].confidence == 0.95


async def test_what_reads_otherwise_is_believed_less(document: Document) -> None:
    pages = Pages({"Harbour Ltd": "Harbeur Ltd", "24.60": "24.00"}, document)

    reread = await SecondLook(pages).reread(
        document, _read(document), ["seller.name", "gross_total"], original=ORIGINAL
    )

    assert reread.unlike == ["seller.name", "gross_total"]
    assert reread.extraction.evidence["seller.name"].confidence < 0.95
    assert reread.extraction.data == _read(document).data
    amount, proof = reread.others["gross_total"]
    assert amount == Decimal("24.00")
    assert (proof.match, proof.text, proof.reason) == (
        "normalised",
        "24.60",
        "looked at again, it reads 24.00",
    )


async def test_a_sign_and_the_decimal_mark_are_no_difference(document: Document) -> None:
    pages = Pages({"24.60": "-24,60"}, document)

    reread = await SecondLook(pages).reread(document, _read(document), ["gross_total"], original=ORIGINAL)

    assert reread.alike == ["gross_total"]


@pytest.mark.parametrize("again", ["24.00 25.00", "no amount"])
async def test_where_it_reads_no_one_amount_there_is_no_other(document: Document, again: str) -> None:
    reread = await SecondLook(Pages({"24.60": again}, document)).reread(
        document, _read(document), ["gross_total"], original=ORIGINAL
    )

    assert reread.unlike == ["gross_total"]
    assert reread.others == {}


async def test_what_came_with_the_file_is_not_looked_at(typeset: Typeset) -> None:
    document = typeset(PAGE)
    pages = Pages({}, document)

    reread = await SecondLook(pages).reread(
        document, _read(document), ["seller.name", "due_date"], original=ORIGINAL
    )

    assert pages.asked == 0
    assert reread.extraction == _read(document)


async def test_what_cannot_be_read_again_stays_as_it_is(document: Document) -> None:
    nowhere = Evidence(page=1, box=None, text="x", match="none", confidence=0.5)
    found = _read(document)
    found = found.model_copy(update={"evidence": {**found.evidence, "number": nowhere}})

    reread = await SecondLook(Pages({"Harbour Ltd": "-"}, document)).reread(
        document, found, ["seller.name", "number"], original=ORIGINAL
    )

    assert reread.extraction == found
    assert reread.alike == reread.unlike == []


async def test_a_place_without_a_value_is_not_looked_at(document: Document) -> None:
    found, pages = _read(document), Pages({}, document)
    found = found.model_copy(
        update={"evidence": {**found.evidence, "order_number": found.evidence["number"]}}
    )

    reread = await SecondLook(pages).reread(document, found, ["order_number"], original=ORIGINAL)

    assert pages.asked == 0
    assert reread.extraction == found


async def test_only_so_many_places_are_looked_at(document: Document) -> None:
    found, pages = _read(document), Pages({}, document)
    many = [f"lines[{index}].net_amount" for index in range(MOST + 2)]
    evidence = dict.fromkeys(many, found.evidence["net_total"])
    lines = tuple({"net_amount": "20.00"} for _ in many)
    found = found.model_copy(
        update={"data": Invoice.model_validate({**READ, "lines": lines}), "evidence": evidence}
    )

    reread = await SecondLook(pages).reread(document, found, many, original=ORIGINAL)

    assert pages.asked == len(reread.alike) == MOST


async def test_who_waits_too_long_goes_without(document: Document) -> None:
    class Busy(Pages):
        async def reread(
            self, original: Original, document: Document, page_number: int, *, region: Box
        ) -> Words | None:
            del original, document, page_number, region
            await asyncio.Event().wait()
            raise AssertionError

    reread = await SecondLook(Busy({}, document), limit_s=0.01).reread(
        document, _read(document), ["number"], original=ORIGINAL
    )

    assert reread.extraction == _read(document)


async def _routed(document: Document, again: dict[str, str], **sure: float) -> Extraction:
    first = _read(document, **sure)
    router = GateRouter(RuleGate(), [SecondLook(Pages(again, document))])
    return (await router.judge(first, document, INVOICE, ORIGINAL)).extraction


async def test_the_amount_with_which_sums_add_up_is_taken(document: Document) -> None:
    found = await _routed(document, {"24.60": "24.00"})

    assert isinstance(found.data, Invoice)
    assert found.data.gross_total == Decimal("24.00")
    assert RuleGate().judge(document, found, INVOICE).passed
    assert found.reason == (
        "rules; looked again at net total, tax total, gross total: net total, tax total, gross total mended"
    )


async def test_another_amount_that_adds_up_no_better_is_not_taken(document: Document) -> None:
    found = await _routed(document, {"24.60": "24.80"})

    assert isinstance(found.data, Invoice)
    assert found.data.gross_total == Decimal("24.60")
    assert found.reason.endswith("nothing better")


async def test_a_name_that_reads_the_same_again_needs_no_person(document: Document) -> None:
    found = await _routed(document, {"24.60": "24.00"}, name=0.89)

    assert RuleGate().judge(document, found, INVOICE).passed


async def test_what_cannot_be_looked_at_is_not_spoken_of(document: Document) -> None:
    found = await _routed(document, {"24.60": "-", "20.00": "-", "4.00": "-"})

    assert found == _read(document)
