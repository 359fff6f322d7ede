from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.schemas.document_types import DocumentType
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import closed_up, is_title, title_scores
from docmill.understanding.vocabulary import LANGUAGES

Typeset = Callable[..., Document]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("W A R E N R E C H N U N G", "invoice"),
        ("Stromrechnung Juli", "invoice"),
        ("Rechnungs-Korrektur", "invoice"),
        ("Verzamelfactuur", "invoice"),
        ("Sammellieferschein 7", "delivery_note"),
        ("Lohnabrechnung", "other"),
        ("Betriebskostenabrechnung", "other"),
        ("Preventivo n. 4", "other"),
        ("Table of Contents", "other"),
        ("Rechn ung", None),
        ("Contents", "other"),
        ("Comments", None),
    ],
)
def test_a_title_speaks_for_its_type_also_set_apart_or_within_a_longer_word(
    typeset: Typeset, text: str, kind: DocumentType | None
) -> None:
    said = title_scores(Layout(typeset(f"{text}\n\nx")))

    assert [one for one, found in said.items() if found.heading] == ([kind] if kind else [])


def test_a_phrase_counts_once_and_as_a_heading_more(typeset: Typeset) -> None:
    low = "\n" * 20 + "our invoice and your invoice"

    heading = title_scores(Layout(typeset(f"INVOICE{low}")))["invoice"]
    below = title_scores(Layout(typeset(f"x{low}")))["invoice"]

    assert (heading.total, heading.heading, heading.phrases) == (6, 3, {"invoice"})
    assert (below.total, below.heading, below.strongest) == (3, 0, 3)


def test_the_terms_on_the_back_say_nothing_of_other_papers(typeset: Typeset) -> None:
    said = title_scores(Layout(typeset("Order 7\fTerms and conditions: this quotation is no invoice")))

    assert (said["other"].total, said["invoice"].total) == (0, 3)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("I N V O I C E 7", "INVOICE 7"),
        ("A B C", "A B C"),
        ("plan B C D E", "plan BCDE"),
        ("1 2 3 4 5", "1 2 3 4 5"),
    ],
)
def test_letters_set_apart_are_put_together(text: str, closed: str) -> None:
    assert closed_up(text) == closed


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("Receipt", True),
        (" RELEVÉ DE COMPTE: ", True),
        ("Invoice Ninja", False),
        ("Order", False),
        ("", False),
    ],
)
def test_what_papers_are_called_is_known(text: str, *, yes: bool) -> None:
    assert is_title(text) is yes


def test_every_phrase_of_other_papers_is_found_where_it_is_read(typeset: Typeset) -> None:
    phrases = [phrase.replace("#", "No.") for language in LANGUAGES for phrase in language.others]

    assert [one for one in phrases if not title_scores(Layout(typeset(one)))["other"].total] == []
