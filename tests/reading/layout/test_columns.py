"""Pages drawn in a grid of characters, ten points high and five wide."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from docmill.model.document import Words
from docmill.reading.layout.reading_order import arrange_words

PAGE = np.float32(1000)
Piece = tuple[float, float, str]


def read(pieces: Sequence[Piece], height: float = 10) -> Words:
    """`pieces`: left, top, and text, five points per character; words are evenly spread."""
    boxes: list[list[float]] = []
    owners: list[int] = []
    texts: list[str] = []
    frames: list[list[float]] = []
    for index, (left, top, text) in enumerate(pieces):
        frames.append([left, top, left + 5 * len(text), top + height])
        at = 0
        for word in text.split():
            at = text.index(word, at)
            boxes.append([left + 5 * at, top, left + 5 * (at + len(word)), top + height])
            owners.append(index)
            texts.append(word)
    words = np.array(boxes, np.float32).reshape(-1, 4)
    return arrange_words(
        np.array(frames, np.float32).reshape(-1, 4),
        np.array(owners, np.int32),
        texts,
        words / PAGE,
        confidences=np.ones(len(texts), np.float32),
    )


def lines(words: Words) -> list[str]:
    pairs = zip(words.lines.tolist(), words.texts, strict=True)
    return [" ".join(text for _, text in line) for _, line in groupby(pairs, key=itemgetter(0))]


def column(left: float, top: float, rows: Sequence[str], leading: float = 12) -> list[Piece]:
    return [(left, top + index * leading, row) for index, row in enumerate(rows)]


PROSE = [
    "the parties agree that the goods",
    "are delivered free of charge and",
    "that the buyer bears all risk of",
    "loss from the day on which goods",
    "have left the works of the firm.",
    "Complaints must be made at once.",
]


def test_two_columns_of_text_are_read_one_after_the_other() -> None:
    left, right = [f"a {row}" for row in PROSE], [f"b {row}" for row in PROSE]
    found = read([(0, 0, "Terms and conditions"), *column(0, 30, left), *column(190, 30, right)])

    assert lines(found) == ["Terms and conditions", *left, *right]
    assert len(set(found.blocks.tolist())) == 3


def test_three_columns_between_a_title_and_a_footer_keep_their_place() -> None:
    columns = [[f"{name} {row}" for row in PROSE] for name in "abc"]
    pieces = [piece for index, one in enumerate(columns) for piece in column(200 * index, 30, one)]
    footer = "a footer that goes over the whole width of all the columns of this page, from left to right, no"

    found = read([(20, 0, "A title over all columns"), *pieces, (0, 150, footer)])

    assert lines(found) == ["A title over all columns", *columns[0], *columns[1], *columns[2], footer]


def test_a_side_bar_with_its_own_leading_is_read_after_the_letter() -> None:
    letter = [f"dear sirs {row}" for row in PROSE]
    bar = ["Halden Freight", "Dock Street", "Hamburg", "Germany", "Managers Berg"]

    assert lines(read([*column(0, 0, letter), *column(300, 3, bar, leading=16)])) == [*letter, *bar]


def test_fields_right_of_an_address_are_lines_of_their_own() -> None:
    address = ["Contoso Headquarters", "Main Street", "New York"]
    fields = ["INVOICE: INV-100", "INVOICE DATE: 11/15/2019", "CUSTOMER: CID-12345"]

    assert lines(read([*column(0, 0, address), *column(300, 0, fields)])) == [*address, *fields]


def test_labels_and_their_values_stay_on_one_line() -> None:
    labels = ["Invoice number:", "Customer:", "Delivered to:", "Clerk:"]
    values = ["2026-104", "Halden Freight", "Dock Street", "Mrs Berg"]

    found = read([*column(0, 0, labels), *column(120, 0, values)])

    assert lines(found) == [f"{label} {value}" for label, value in zip(labels, values, strict=True)]


def test_labels_without_colons_and_their_values_stay_on_one_line() -> None:
    labels = ["Advertiser", "Agency", "Product", "Buyer name"]
    values = ["Amy for America", "Impact Media", "Political candidate", "Alexa Schram"]

    found = read([*column(0, 0, labels), *column(120, 1, values)])

    assert lines(found) == [f"{label} {value}" for label, value in zip(labels, values, strict=True)]


def test_the_rows_of_a_table_stay_whole_when_descriptions_wrap() -> None:
    first = [
        "Oak boards, planed on all four sides,",
        "three metres long",
        "Screws",
        "Glue for wood, white",
        "in bottles",
    ]
    amounts = [
        (250, 0, "12"),
        (300, 0, "4.50"),
        (250, 24, "2"),
        (300, 24, "9.00"),
        (250, 36, "1"),
        (300, 36, "3.75"),
    ]

    found = lines(read([*column(0, 0, first), *amounts]))

    assert found == [f"{first[0]} 12 4.50", first[1], "Screws 2 9.00", f"{first[3]} 1 3.75", first[4]]


def test_a_table_that_begins_below_two_blocks_keeps_its_rows() -> None:
    address = ["Pino Bluebird", "Sessamestreet", "Amsterdam", "Netherlands"]
    shop = ["Coolblue", "Weena", "Rotterdam", "Nederland", "www.laptopshop.nl"]
    table = [
        (0, 90, "Leather sleeve"),
        (200, 90, "1"),
        (260, 90, "99,99"),
        (0, 102, "Mouse"),
        (200, 102, "2"),
        (260, 102, "9,99"),
    ]

    found = lines(read([*column(0, 0, address, 15), *column(190, 4, shop, 12), *table]))

    assert found == [*address, *shop, "Leather sleeve 1 99,99", "Mouse 2 9,99"]


PIECES = st.lists(
    st.tuples(
        st.floats(0, 900, width=32),
        st.floats(0, 900, width=32),
        st.lists(st.text("ab1:", min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(PIECES)
def test_every_word_comes_once_with_its_box_whatever_the_page(pieces: list[Piece]) -> None:
    found = read(pieces)

    assert sorted(found.texts) == sorted(word for _, _, text in pieces for word in text.split())
    inside = found.boxes[:, 2] < 1
    widths = (found.boxes[:, 2] - found.boxes[:, 0])[inside] * PAGE / 5
    lengths = np.array([len(text) for text in found.texts], np.float32)[inside]
    np.testing.assert_allclose(widths, lengths, atol=0.01)
    assert (np.diff(found.lines) >= 0).all()
    assert (np.diff(found.blocks) >= 0).all()
    places = list(zip(found.lines.tolist(), found.blocks.tolist(), strict=True))
    assert all(first[1] == second[1] for first, second in pairwise(places) if first[0] == second[0])


@settings(max_examples=20, deadline=None)
@given(PIECES)
def test_the_same_page_is_always_read_in_the_same_order(pieces: list[Piece]) -> None:
    first, second = read(pieces), read(pieces)

    assert first.texts == second.texts
    assert first.lines.tolist() == second.lines.tolist()
