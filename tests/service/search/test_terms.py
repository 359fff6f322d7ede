"""What people type, and the place of a text that it finds."""

import pytest

from docmill.service.search.snippets import snippet_of
from docmill.service.search.terms import fold, search_terms, tsquery_of


@pytest.mark.parametrize(
    ("text", "folded"),
    [("Müller & Söhne", "muller sohne"), ("Straße", "strasse"), ("Łódź", "lodz"), ("ØRSTED", "orsted")],
)
def test_words_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("typed", "form"),
    [
        ("1.234,50", "n123450"),
        ("1,234.50", "n123450"),
        ("1234.50", "n123450"),
        ("1 234,50", "n123450"),
        ("1234", "n123400"),
        ("26.02.2016", "d20160226"),
        ("2016-02-26", "d20160226"),
        ("de89370400440532013000", "de89370400440532013000"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("RE-2026/17", "re202617"),
    ],
)
def test_amounts_days_and_codes_have_one_form(typed: str, form: str) -> None:
    (term,) = search_terms(typed)

    assert form in term.exact


def test_a_word_is_looked_for_in_its_forms_and_a_phrase_as_it_stands() -> None:
    word, phrase, gone = search_terms('Müller "due date" -draft')

    assert word.words == ("muller",)
    assert "mueller" in word.variants
    assert (phrase.words, phrase.is_phrase) == (("due", "date"), True)
    assert gone.is_excluded


@pytest.mark.parametrize("typed", ["", "<", '"', '""', "-", "& | !", "\0", "-draft"])
def test_what_names_nothing_is_no_query(typed: str) -> None:
    assert tsquery_of(typed) == ""


def test_a_snippet_shows_most_of_the_terms_with_its_page() -> None:
    text = (
        "Invoice of Wolkenkuck AG\n"
        + "filler " * 60
        + "\fDelivery   of 3 cranes, crane hire 1.234,50 EUR\nThanks"
    )

    snippet = snippet_of(text, "crane 1234.50")

    assert snippet is not None
    assert snippet.page == 2
    assert [text for text, is_found in snippet.pieces if is_found] == ["cranes", "crane", "1.234,50"]
    assert snippet_of(text, "zebra") is None
