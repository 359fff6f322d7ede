from collections.abc import Callable

import numpy as np
import pytest

from docmill.model.document import Document
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.receipts.head import Head, head
from docmill.understanding.receipts.spans import enumerate_spans, pruning_mask

Typeset = Callable[..., Document]

WIDE_SPACES = """
   MR. LIM  (KUCHAI)  SDN BHD
   LOT 5, JALAN MAWAR
   43300 SERI KEMBANGAN
"""


def _head(document: Document) -> Head:
    layout = Layout(document)
    return head(Candidates(layout, conventions(layout)))


def _names(found: Head, shares: np.ndarray | None = None) -> set[str]:
    choices = enumerate_spans(found, "name", shares)
    return {choices.text(index) for index in range(len(choices.choices))}


def test_a_name_set_with_wide_spaces_is_not_cut_in_two(typeset: Typeset) -> None:
    found = _names(_head(typeset(WIDE_SPACES)))

    assert "MR. LIM (KUCHAI) SDN BHD" in found
    assert not {"MR. LIM", "(KUCHAI) SDN BHD", "SDN BHD"} & found


def test_the_whole_line_is_tried_where_only_its_end_looks_like_a_name(typeset: Typeset) -> None:
    parted = _head(typeset(WIDE_SPACES + "\n".join(["GOODS"] * 6)))
    shares = np.full((len(parted.segments), 3), 0.001)
    shares[2, 1] = 0.9
    shares[[3, 4, 5, 6], 1] = 0.002

    tried = enumerate_spans(parted, "name", shares)

    assert "MR. LIM (KUCHAI) SDN BHD" in _names(parted, shares)
    assert pruning_mask(enumerate_spans(parted, "name"), shares).sum() == len(tried.choices)


@pytest.mark.parametrize(
    "line",
    [
        "KEDAI MAJU            OPEN ALL DAY",
        "KEDAI MAJU  12/03/2018",
        "KEDAI MAJU  (123456-X)",
        "KEDAI MAJU  03-7805 7889",
    ],
)
def test_what_stands_apart_or_tells_something_else_is_cut_off(typeset: Typeset, line: str) -> None:
    assert "KEDAI MAJU" in _names(_head(typeset(f"{line}\nLOT 5, JALAN MAWAR\n43300 SERI KEMBANGAN")))


def test_whose_shop_it_is_in_malay_is_no_part_of_the_name(typeset: Typeset) -> None:
    assert "banh mi sdn bhd" in _names(_head(typeset("Dimiliki: banh mi sdn bhd")))
