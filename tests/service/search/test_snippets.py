"""The marks in the place of a text that a search found."""

import pytest

from docmill.service.search.snippets import snippet_of


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("a noter; Credit Note 7 and Delivery Note 12", '"delivery note"', ["Delivery Note"]),
        ("Delivery to note", '"delivery note"', []),
        ("2 nights 95.00 100.00 in all \u00a39,114.00", "9114.00", ["9,114.00"]),
        ("95.00 100.00", "9114.00", []),
        ("invoice RE-2026/17 of 2026", "re-2026/17", ["RE-2026/17"]),
        ("noted notes", "note", ["noted", "notes"]),
        ("ends with Delivery", '"delivery note"', []),
    ],
)
def test_what_was_sought_is_marked_and_no_word_of_it_alone(text: str, query: str, marked: list[str]) -> None:
    snippet = snippet_of(text, query)

    pieces = snippet.pieces if snippet else []
    assert [piece for piece, is_marked in pieces if is_marked] == marked


def test_a_piece_begins_and_ends_with_whole_words() -> None:
    snippet = snippet_of("crane " * 5 + "lifted " + "by many " * 30, "lifted")

    assert snippet is not None
    assert {*snippet.text.split()} == {"crane", "lifted", "by", "many"}


def test_a_long_word_that_was_found_is_given_whole() -> None:
    word = "a" * 300

    snippet = snippet_of(f"see {word} and more", "aaa")

    assert snippet is not None
    assert snippet.text == f"see {word}"
