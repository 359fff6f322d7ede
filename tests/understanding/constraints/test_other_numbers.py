"""Numbers that are not those of documents."""

from collections.abc import Callable

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.withholding import withhold

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


TWO_NUMBERS = """
Weberei Halmstedt GmbH
Am Kanal 4, 26721 Emden

Invoice
Invoice No.: R-2026-17                    Date: 23/04/2026

Linen shirt        2      20.00      40.00
                         Total   EUR 40.00

Invoice No.: R-2026-11                    Date: 02/03/2026
"""


def test_of_two_numbers_with_the_same_label_a_person_chooses(typeset: Callable[..., Document]) -> None:
    extraction = withhold(extract_by_rules(typeset(TWO_NUMBERS), REGISTRY["invoice"]), REGISTRY["invoice"])

    assert isinstance(extraction.data, Invoice)
    assert extraction.data.number is None
    offered = [suggestion.value for suggestion in extraction.suggestions["number"]]
    assert set(offered[:2]) == {"R-2026-17", "R-2026-11"}
