"""What is taken for mistyped, and what for meant."""

import pytest

from docmill.service.search.spelling import corrected_query, doubtful_words
from docmill.service.search.terms import tsquery_of

WORDS = [("versicherung", 3), ("versicherungen", 1), ("kranwagen", 2), ("rent", 5), ("rest", 9), ("test", 1)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("versicehrung", "versicherung"),  # two letters are swapped
        ("Kranwagn", "kranwagen"),
        ("versicherung kranwagn", "versicherung kranwagen"),
        ('kranwagn "due date" -draft 12,50', 'kranwagen "due date" -draft 12,50'),
        ("kranwagn RE-2026/17 on 3 May 2026", "3 May 2026 kranwagen RE-2026/17 on"),
        ("rept", "rest"),  # as near as `rent`, and in more documents
        ("ren", None),
        ("zebra kranwagn", None),
        ("versicherung", None),
        ('"kranwagn"', None),
        ("-kranwagn rest", None),
    ],
)
def test_words_are_corrected_to_the_nearest_that_documents_have(typed: str, meant: str | None) -> None:
    assert corrected_query(typed, WORDS) == meant
    assert meant is None or tsquery_of(meant)


def test_short_words_numbers_codes_and_phrases_are_never_doubtful() -> None:
    assert doubtful_words('vat 2026 RE-17 "due date" -draft Müller') == ["muller"]


def test_words_that_are_known_are_never_doubtful() -> None:
    assert doubtful_words("insurance Versicherung März kranwagn") == ["kranwagn"]
