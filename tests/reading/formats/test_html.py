import pytest

from docmill.errors import TooLargeError
from docmill.reading.formats import html
from docmill.reading.layout.typeset import Block, HeadingBlock, Paragraph, TableBlock


def shown(page: str | bytes) -> list[Block]:
    """Without the room between paragraphs."""
    return [block for block in html.blocks(page) if block != Paragraph("")]


def test_headings_paragraphs_and_lists_are_blocks() -> None:
    page = "<title>no</title><h2>Invoice</h2><p>Dear <b>Ms&nbsp;Jones</b>,<br>thanks<ul><li>one<li>two</ul>"

    assert shown(page) == [
        HeadingBlock("Invoice", 2),
        Paragraph("Dear Ms\u00a0Jones,\nthanks"),
        Paragraph("• one\n• two"),
    ]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ol><li>net<li>tax</ol>", "1. net\n2. tax"),
        ("<ol start=9><li>net<li value=20>tax<li>total</ol>", "9. net\n20. tax\n21. total"),
        ("<ol reversed><li>net<li>tax</ol>", "2. net\n1. tax"),
        ("<ol type=a><li>net<li>tax</ol>", "a. net\nb. tax"),
        ("<ol type=I start=4><li>net</ol>", "IV. net"),
        ("<ol start=none><li>net<li hidden>tax<li>total</ol>", "1. net\n2. total"),
        ("<ol type=a start=0><li>net<li>tax</ol>", "0. net\na. tax"),
    ],
)
def test_items_of_a_numbered_list_keep_their_numbers(page: str, text: str) -> None:
    assert shown(page) == [Paragraph(text)]


def test_a_list_in_a_list_counts_for_itself() -> None:
    page = "<ol><li>goods<ul><li>screws</ul><ol><li>nuts</ol><li>postage</ol>"

    lines = [line for block in shown(page) if isinstance(block, Paragraph) for line in block.text.split("\n")]

    assert lines == ["1. goods", "• screws", "1. nuts", "2. postage"]


def test_lines_of_divs_follow_each_other() -> None:
    assert shown("<div>ACME Ltd<div>1 Road</div>London</div>") == [Paragraph("ACME Ltd\n1 Road\nLondon")]


def test_what_cannot_be_seen_is_left_out() -> None:
    page = (
        "<script>x()</script><style>p{}</style><!-- c --><p hidden>h</p><p style='display: none'>d</p>"
        "<noscript>n</noscript><svg><text>s</text></svg><table hidden><tr><td>t</table>"
        "<table><tr style='display:none'><td>r<tr><td style='visibility:hidden'>c<td>seen</table>"
    )

    assert shown(page) == [Paragraph("seen")]


def test_cells_take_rows_and_columns() -> None:
    page = (
        "<table><caption>Prices</caption><thead><tr><th>Item<th colspan=2>Sum</thead>"
        "<tbody><tr><td rowspan=2>A<td>1<td>2<tr><td>3<td>4</table>"
    )

    assert shown(page) == [
        Paragraph("Prices"),
        TableBlock(
            [["Item", "Sum", ""], ["A", "1", "2"], ["", "3", "4"]], 1, {(0, 1): (1, 2), (1, 0): (2, 1)}
        ),
    ]


def test_empty_columns_and_rows_are_dropped() -> None:
    page = "<table><tr><td>a<td><td>b<tr><td> <td><td><tr><td colspan=2>c<td>d</table>"

    assert shown(page) == [TableBlock([["a", "b"], ["c", "d"]])]


def test_a_table_that_only_places_is_dissolved() -> None:
    page = "<table><tr><td><h1>Title</h1><tr><td><table><tr><td>a<td>b</table></table>"

    assert shown(page) == [HeadingBlock("Title"), TableBlock([["a", "b"]])]


def test_a_table_of_long_columns_is_dissolved() -> None:
    page = f"<table><tr><td>menu<td>{'line<br>' * 70}</table>"

    assert [type(block) for block in shown(page)] == [Paragraph, Paragraph]


def test_preformatted_text_keeps_its_gaps() -> None:
    assert shown("<pre>\nNet     5\nVAT     1\n</pre>") == [Paragraph("Net     5\nVAT     1", is_set=True)]


def test_forms_show_their_values() -> None:
    page = (
        "<p>Name <input value='Ann'><input type=hidden value=x><input type=checkbox value=y>"
        "<select><option>a<option selected>b</select><select></select><textarea>note</textarea>"
    )

    assert shown(page) == [Paragraph("Name Ann b"), Paragraph("note", is_set=True)]


def test_unknown_elements_stand_in_the_line() -> None:
    assert shown("<p>(<ix:num>702</ix:num>) 939<img alt=x>-1") == [Paragraph("(702) 939 -1")]


def test_the_page_says_its_encoding_but_may_be_wrong() -> None:
    page = "<meta charset='{}'><p>Größe 5 €"

    assert shown(page.format("windows-1252").encode("cp1252")) == [Paragraph("Größe 5 €")]
    assert shown(page.format("Steel-JIS").encode()) == [Paragraph("Größe 5 €")]
    assert shown(page.format("utf-8").encode("cp1252")) == [Paragraph("Größe 5 €")]
    assert shown("<?xml version='1.0' encoding='koi8-r'?><p>Счет".encode("koi8-r")) == [Paragraph("Счет")]
    assert html.blocks("<p>Größe".encode("cp1252"), "iso-8859-1")[0] == Paragraph("Größe")


def test_entities_are_characters_and_own_ones_stay_unresolved() -> None:
    page = "<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><p>&euro;&#8364;&amp;&x;"

    paragraph = shown(page)[-1]

    assert isinstance(paragraph, Paragraph)
    assert paragraph.text == "€€&&x;"


def test_deep_nesting_is_read_as_bare_text() -> None:
    page = "<div>" * 1500 + "deep" + "</div>" * 1500

    assert [block for block in shown(page) if isinstance(block, Paragraph) and "deep" in block.text]


def test_bottomless_nesting_is_refused() -> None:
    with pytest.raises(TooLargeError, match="too deeply"):
        shown("<div>" * 5000 + "deep")


def test_absurd_spans_are_limited() -> None:
    page = "<table><tr><td colspan=999999999 rowspan=99999>a<td>b<tr><td colspan=9999>c<td>d</table>"

    (grid,) = shown(page)

    assert isinstance(grid, TableBlock)
    assert {text for row in grid.rows for text in row} >= {"a", "b", "c", "d"}


@pytest.mark.parametrize("page", ["", " \0", "<!-- only -->"])
def test_a_page_without_anything_shows_nothing(page: str) -> None:
    assert shown(page) == []
