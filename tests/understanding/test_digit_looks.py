"""Looks in several preparations at dates, times and totals that nothing else confirms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from docmill.model.document import Document, Usage
from docmill.model.result import Extraction, StepTaken
from docmill.ports import Judged, Original
from docmill.resilience.spending import Meter
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Receipt
from docmill.understanding.digit_looks import DigitsLook
from docmill.understanding.gate import RuleGate
from docmill.understanding.locate.evidence import located
from docmill.understanding.router import GateRouter
from docmill.understanding.second_readers import Question

Typeset = Callable[..., Document]
RECEIPT = REGISTRY["receipt"]
ORIGINAL = Original(Path("photo.jpeg"), "photo.jpeg", "0" * 64)
PAGE = """
Harbour Coffee
12 Quay Street
07-27-2009           6:23 PM
Coffee                 30.50
Total                  32.50
"""
READ: dict[str, Any] = {
    "seller": {"name": "Harbour Coffee"},
    "issue_date": "2009-07-27",
    "gross_total": "32.50",
}


class Pages:
    """Reads what it is told, whatever the place, and keeps the places."""

    def __init__(self, looks: Sequence[str] | None) -> None:
        self._looks = looks
        self.corners: list[NDArray[np.float32]] = []

    async def look_at_digits(
        self, original: Original, document: Document, page_number: int, *, corners: NDArray[np.float32]
    ) -> list[tuple[str, ...]] | None:
        assert original is ORIGINAL
        assert page_number == document.pages[0].number
        self.corners.extend(corners)
        return None if self._looks is None else [tuple(self._looks)] * len(corners)


def _photo(typeset: Typeset, text: str = PAGE) -> Document:
    """A recognised page that is not read surely."""
    document = typeset(text, source="ocr")
    return replace(document, pages=[replace(document.pages[0], quality=0.9)])


@pytest.fixture
def document(typeset: Typeset) -> Document:
    return _photo(typeset)


def _read(document: Document, values: Mapping[str, Any] = READ, confidence: float = 0.96) -> Extraction:
    data = Receipt.model_validate(values)
    evidence = located(document, data, RECEIPT)
    return Extraction(
        document_type="receipt",
        data=data,
        evidence={
            path: proof.model_copy(update={"confidence": confidence}) for path, proof in evidence.items()
        },
        steps=(StepTaken(kind="read", by="rules"),),
    )


async def _date_belief(pages: Pages, document: Document) -> float:
    read = _read(document, {"issue_date": "2009-07-27"})
    question = Question(document, RECEIPT, ORIGINAL, Meter(None, Usage()))
    again = await DigitsLook(pages).read_again(read, (), question)
    return (read if again is None else again.best).evidence["issue_date"].confidence


async def test_a_date_that_every_look_reads_alike_is_believed_more(document: Document) -> None:
    assert await _date_belief(Pages(["07-27-2009"] * 5), document) > 0.96


async def test_one_look_of_five_that_reads_otherwise_is_a_weak_doubt(document: Document) -> None:
    assert 0.85 < await _date_belief(Pages([*["07-27-2009"] * 4, "07-27-2005"]), document) < 0.96


async def test_a_date_that_looks_read_otherwise_is_believed_no_more(document: Document) -> None:
    looks = ["07-27-2009", "07-27-2005", "07-27-2009", "07-27-2003", "07-27-2009"]

    assert await _date_belief(Pages(looks), document) < 0.7


async def test_looks_that_lose_a_digit_are_no_other_readings(document: Document) -> None:
    looks = ["07-27-2009", "7-27-2009", "07-27-2009", "", "O7-27-2009"]

    assert await _date_belief(Pages(looks), document) > 0.96


async def test_a_place_that_no_look_can_read_is_a_weak_doubt(document: Document) -> None:
    assert 0.85 < await _date_belief(Pages(["", "27", "7-2", "", "."]), document) < 0.96


async def test_pages_that_are_gone_change_nothing(document: Document) -> None:
    assert await _date_belief(Pages(None), document) == 0.96


async def test_only_recognised_values_that_nothing_confirms_are_looked_at(
    document: Document, typeset: Typeset
) -> None:
    async def places(document: Document, values: Mapping[str, Any], confidence: float = 0.96) -> int:
        pages = Pages(["1"])
        question = Question(document, RECEIPT, ORIGINAL, Meter(None, Usage()))
        await DigitsLook(pages).read_again(_read(document, values, confidence), (), question)
        return len(pages.corners)

    again = _photo(typeset, PAGE + "\n07-27-2009  Cash  32.50")
    summed = _photo(typeset, PAGE.replace("Coffee                 30.50", "Net 30.50\nTax 2.00"))
    sums = {"net_total": "30.50", "tax_total": "2.00", "gross_total": "32.50"}
    assert await places(document, READ) == 2
    assert await places(again, READ) == 0
    assert await places(summed, sums) == 0
    assert await places(summed, sums | {"net_total": "30.00"}) > 0
    assert await places(document, READ, confidence=0.5) == 0  # it is no data anyway
    assert await places(typeset(PAGE), READ) == 0
    page = document.pages[0]
    sure = replace(page, quality=1.0, words=replace(page.words, confidences=np.ones(len(page.words.texts))))
    assert await places(replace(document, pages=[sure]), READ) == 0


async def test_the_corners_follow_the_slope_of_the_row(typeset: Typeset) -> None:
    page = _photo(typeset).pages[0]
    boxes = page.words.boxes.copy()
    slope = 0.05
    boxes[:, [1, 3]] += (slope * boxes[:, [0, 0]]) * page.width_pt / page.height_pt
    tilted = replace(page, words=replace(page.words, boxes=boxes))
    document = replace(_photo(typeset), pages=[tilted])
    pages = Pages(["1"])

    question = Question(document, RECEIPT, ORIGINAL, Meter(None, Usage()))
    await DigitsLook(pages).read_again(_read(document, {"issue_date": "2009-07-27"}), (), question)

    (corners,) = pages.corners
    across, down = (corners[1] - corners[0]) * [page.width_pt, page.height_pt]
    assert down / across == pytest.approx(slope, rel=0.2)


async def test_a_date_whose_digits_are_guessed_asks_a_person(document: Document) -> None:
    async def judged(looks: Sequence[str]) -> Judged:
        router = GateRouter(RuleGate(), confirmers=[DigitsLook(Pages(looks))])
        return await router.judge(_read(document), document, RECEIPT, ORIGINAL)

    sure = await judged(["07-27-2009"] * 5)
    guessed = await judged(["07-27-2009", "07-27-2005", "07-27-2003", "07-27-2005", "07-27-2009"])

    assert sure.extraction.data.model_dump()["issue_date"] is not None
    assert all(step.kind == "read" for step in sure.extraction.steps[:1])
    assert guessed.extraction.data.model_dump()["issue_date"] is None
    (first, *_) = guessed.extraction.suggestions["issue_date"]
    assert first.value == "2009-07-27"
    assert not guessed.verdict.passed
    assert guessed.extraction.steps[-1].fields[0] == "issue_date"
    assert guessed.extraction.data.model_dump()["gross_total"] in (None, Decimal("32.50"))
