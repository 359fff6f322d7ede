import pytest

from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.folding import fold, tokens, without_accents
from docmill.understanding.vocabulary import LANGUAGES, Concept


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Invoice No.", Concept.INVOICE_NUMBER),
        ("InvoiceNo:", Concept.INVOICE_NUMBER),
        ("INVOICENUMBER", Concept.INVOICE_NUMBER),
        ("lnvoice #", Concept.INVOICE_NUMBER),
        ("Rechnungs-Nr.", Concept.INVOICE_NUMBER),
        ("Rechnungsnummer", Concept.INVOICE_NUMBER),
        ("Rechnungsdatum", Concept.INVOICE_DATE),
        ("N° de facture", Concept.INVOICE_NUMBER),
        ("Fecha de vencimiento", Concept.DUE_DATE),
        ("Partita IVA", Concept.VAT_NUMBER),
        ("Te betalen", Concept.DUE),
        ("T0TAL", Concept.TOTAL),
        ("Tarikh", Concept.DATE),
        ("Rückgeld", Concept.CHANGE),
        ("Échéance", Concept.DUE_DATE),
    ],
)
def test_a_label_is_known_glued_hyphenated_or_misread(text: str, concept: Concept) -> None:
    (label, *_) = LABELS.find(text)

    assert concept in label.meanings
    assert label.start == 0


def test_the_longest_label_wins() -> None:
    (label,) = LABELS.find("Invoice date")

    assert label.meanings == (Concept.INVOICE_DATE,)


@pytest.mark.parametrize("text", ["", "xyzzy", "123 456", "Q7-Z9"])
def test_other_words_are_no_labels(text: str) -> None:
    assert LABELS.find(text) == []


def test_folding_keeps_the_length_of_a_text() -> None:
    text = "Größe N° Œuvre Ärger ﬁ"

    assert len(fold(text)) == len(text)


def test_camel_case_is_two_words() -> None:
    assert [token.text for token in tokens("TotalAmount")] == ["total", "amount"]


def test_accents_are_taken_off() -> None:
    assert without_accents("SETIA ÁLAM") == "SETIA ALAM"


def test_every_language_has_labels_titles_and_addresses() -> None:
    for language in LANGUAGES:
        assert language.labels
        assert language.titles
        assert language.address.streets


def test_a_compound_means_what_its_end_means() -> None:
    (label,) = LABELS.find("Mietrechnung Nr.")

    assert Concept.INVOICE_NUMBER in label.meanings
    assert not LABELS.find("Umrechnung")


def test_a_misread_word_is_the_one_that_most_languages_know() -> None:
    (label,) = LABELS.find("lotal")  # Portuguese has `local`, one letter away, too

    assert Concept.TOTAL in label.meanings


@pytest.mark.parametrize("text", ["Restless", "allowed", "submit"])
def test_words_of_two_languages_are_not_written_together(text: str) -> None:
    assert LABELS.find(text) == []
