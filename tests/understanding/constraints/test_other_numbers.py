"""Numbers that are not those of documents."""

from collections.abc import Callable

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules

PAGE = """
Invoice No. R-2026-17
Date: 23/04/2026
Order   P.O. Box 206270, Springfield
Number   500ML
Total   EUR 12.00
"""


def test_a_post_box_is_no_order_number_and_a_measure_no_number(typeset: Callable[..., Document]) -> None:
    data = extract_by_rules(typeset(PAGE), REGISTRY["invoice"]).data

    assert isinstance(data, Invoice)
    assert (data.number, data.order_number) == ("R-2026-17", None)
