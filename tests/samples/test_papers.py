"""What the samples are: enough of each kind, true to their truth, and no two families alike."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import cast

import pypdfium2 as pdfium
import pytest
from pydantic import BaseModel

from docmill.model import letters_and_digits
from docmill.samples.catalogue import plans
from docmill.samples.layouts.families import draw
from docmill.samples.plan import Plan
from docmill.samples.wording import Wording

PLANS = plans()
_PLACES = {"quantity", "tax_rate"}
_INDIRECT = {"currency"}  # printed as a symbol


@pytest.fixture(params=PLANS, ids=lambda plan: plan.name)
def plan(request: pytest.FixtureRequest) -> Plan:
    return request.param


def _leaves(fields: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(fields, BaseModel):
        for key in type(fields).model_fields:
            yield from _leaves(getattr(fields, key), key)
    elif isinstance(fields, tuple):
        for each in cast("tuple[object, ...]", fields):
            yield from _leaves(each, name)
    elif fields is not None:
        yield name, fields


def _printed(name: str, value: object, say: Wording) -> str:
    if isinstance(value, dt.date):
        return say.day(value)
    if isinstance(value, Decimal):
        return say.count(value) if name in _PLACES else say.number(abs(value))
    return str(value)


def _text(pdf: bytes) -> str:
    document = pdfium.PdfDocument(pdf)
    text = "\n".join(page.get_textpage().get_text_range() for page in document)
    document.close()
    return text


def test_every_true_value_is_printed(plan: Plan) -> None:
    text = letters_and_digits(_text(draw(plan.layout, plan.paper)))

    missing = [
        (name, value)
        for name, value in _leaves(plan.truth)
        if name not in _INDIRECT and letters_and_digits(_printed(name, value, plan.paper.wording)) not in text
    ]

    assert not missing
