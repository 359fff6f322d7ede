"""Boxes that a person draws on a page, and the text in them."""

from collections.abc import Callable

import pytest

from docmill.model.document import Box, Document
from docmill.web.view.places import parse_box, text_within


@pytest.mark.parametrize(
    "text", ["", "1,2", "0.5,0.1,0.2,0.3", "0,0,2,1", "a,b,c,d", "nan,0,1,1", "0,0,1,1,1"]
)
def test_what_is_no_box_on_a_page_is_none(text: str) -> None:
    assert parse_box(text) is None


def test_the_text_in_a_box_keeps_its_lines(make_document: Callable[..., Document]) -> None:
    (page,) = make_document("Bread 4.50\nCoffee  8.40\nTotal 12.90").pages

    assert parse_box("0,0.25,0.15,0.6") == Box(0, 0.25, 0.15, 0.6)
    assert text_within(page, Box(0, 0, 1, 0.6)) == "Bread 4.50\nCoffee 8.40"
    assert text_within(page, Box(0.9, 0.9, 1, 1)) == ""


def test_a_page_without_words_has_no_text(make_document: Callable[..., Document]) -> None:
    (page,) = make_document("").pages

    assert text_within(page, Box(0, 0, 1, 1)) == ""
