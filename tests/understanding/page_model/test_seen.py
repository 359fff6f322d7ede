from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from docmill.model.document import Document
from docmill.understanding.fields.analysis_cache import candidates_of, remember
from docmill.understanding.page_model.features import MOST_WORDS
from docmill.understanding.page_model.model import PageReading, shipped
from docmill.understanding.page_model.seen import (
    NONE,
    Place,
    likeliest_fact,
    likeliest_text,
    page_readings,
)

Typeset = Callable[..., Document]

RECEIPT = """
              CAFE MIMOSA
           12 Orchard Road
           Leeds LS1 4AB

   Bill no 48213     14/03/2024   18:42
   Flat white              3.20
   Lemon cake              4.50
   TOTAL                   7.70
   Cash                   10.00
   Change                  2.30
           Thank you
"""


def _words(document: Document, role: str) -> str:
    """The words whose most probable role is this one."""
    reading = page_readings(candidates_of(document))[0]
    best = reading.roles.argmax(axis=1) == list(reading.names).index(role)
    return " ".join(np.array(document.pages[0].words.texts)[best].tolist())


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("seller.name", "CAFE MIMOSA"),
        ("issue_date", "14/03/2024"),
        ("time", "18:42"),
        ("number", "48213"),
        ("gross_total", "7.70"),
    ],
)
def test_the_shipped_model_knows_the_words_of_a_plain_receipt(
    typeset: Typeset, role: str, words: str
) -> None:
    assert _words(typeset(RECEIPT), role) == words


def test_a_text_that_goes_on_over_lines_is_found_whole(typeset: Typeset) -> None:
    found = likeliest_text(candidates_of(typeset(RECEIPT)), "seller.address")

    assert found is not None
    assert " ".join(span.text for span in found[0]) == "12 Orchard Road Leeds LS1 4AB"


def test_a_place_is_told_from_others_but_not_from_the_same_text_again(typeset: Typeset) -> None:
    document = typeset("7.70   7.70   1.00")
    candidates = candidates_of(document)
    names = ("gross_total", NONE)
    roles = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], np.float32)
    remember(candidates, page_readings, [PageReading(names, roles, np.zeros(3, np.float32))])

    place = Place(candidates, candidates.amounts[0].spans)

    assert place.chance("gross_total") == pytest.approx(0.9)
    assert place.best_elsewhere("gross_total") == pytest.approx(0.3)


def test_pages_that_nobody_asked_for_have_no_roles(typeset: Typeset) -> None:
    candidates = candidates_of(typeset("\f".join([RECEIPT] * 4)))
    last = [amount for amount in candidates.amounts if amount.segment.page_index == 3]

    assert Place(candidates, last[0].spans).chance("gross_total") < 0.001


def test_words_beyond_the_most_have_no_role(typeset: Typeset) -> None:
    document = typeset("\n".join(["7.70 8.80 9.90 1.10"] * (MOST_WORDS // 4 + 2)))

    (reading,) = page_readings(candidates_of(document))

    assert reading.roles.shape[0] == len(document.pages[0].words)
    assert reading.of_role(NONE)[MOST_WORDS:].tolist() == [1.0] * 8


def test_a_page_without_words_is_read_as_nothing(typeset: Typeset) -> None:
    blank = typeset("")
    candidates = candidates_of(replace(blank, pages=blank.pages))

    assert likeliest_text(candidates, "seller.name") is None
    assert likeliest_fact(candidates, "currency") is None


def test_a_role_that_the_model_does_not_know_has_no_words() -> None:
    reading = PageReading((NONE,), np.ones((3, 1), np.float32), np.zeros(3, np.float32))

    assert reading.of_role("engine_size").tolist() == [0.0, 0.0, 0.0]


def test_the_roles_of_the_shipped_model_are_paths_of_built_in_fields() -> None:
    assert {"seller.name", "issue_date", "gross_total", "number", "time", NONE} <= set(
        shipped().vocabulary.roles
    )
