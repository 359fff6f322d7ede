"""The linear scorer of candidates."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.scoring import score_candidates, weights_of
from docmill.understanding.user_schemas.extractor import meanings_of

Typeset = Callable[..., Document]

NAME = {"type": "string", "description": "name of the security"}
PAPER = "Order   4711\nBox   77\nPosition   120\nAt   EUR 12.50\nValue   EUR 1,500.00\n"


def test_the_count_whose_price_makes_an_amount_needs_no_label(typeset: Typeset) -> None:
    wanted = schema_of({"title": "trade", "type": "object", "properties": {"shares": {"type": "number"}}})
    meaning = meanings_of(outline(wanted))["shares"]

    field = score_candidates(candidates_of(typeset(PAPER)), meaning)

    assert field.candidates[int(field.scores.argmax())].value == Decimal(120)


def test_a_name_before_an_isin_is_that_of_the_security(typeset: Typeset) -> None:
    wanted = schema_of({"title": "trade", "type": "object", "properties": {"name": NAME}})
    meaning = meanings_of(outline(wanted))["name"]

    field = score_candidates(candidates_of(typeset("Ahlgren Solar AB SE0000108656\n")), meaning)

    assert field.candidates[int(field.scores.argmax())].value == "Ahlgren Solar AB"


@pytest.mark.parametrize("form", ["money", "date", "name", "code", "number", "text"])
def test_forms_have_weights_of_their_own(form: str) -> None:
    assert weights_of(form) is not weights_of("other")
    assert weights_of("boolean") is weights_of("other")
