"""Checks of users' own schemas."""

from collections.abc import Callable

from docmill.model.result import Failure
from docmill.schemas.user_schemas import schema_of

Judge = Callable[..., list[Failure]]


def test_a_document_of_which_little_was_read_is_asked_about(judge: Judge) -> None:
    fields = {name: {"type": "string"} for name in ("lender", "borrower", "purpose", "guarantor")}
    row = {"type": "object", "properties": {"day": {"type": "string"}}}
    wanted = schema_of(
        {
            "title": "loan",
            "type": "object",
            "properties": {**fields, "rates": {"type": "array", "items": row}},
        }
    )

    (few,) = judge("few_values", "Lender Ada", {"lender": ("Ada", "Ada")}, schema=wanted)

    assert few.fields == ("borrower", "purpose", "guarantor")
