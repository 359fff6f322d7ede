import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.model.document import Document
from docmill.reading.text.quality import MOST_PAGES, dominant_language, excerpts

LETTERS = {
    "de": "Bitte überweisen Sie den Betrag innerhalb von 14 Tagen auf unser Konto",
    "en": "Please pay the amount within 14 days, thank you for your business",
    "fr": "Veuillez régler le montant de la facture sous 14 jours à réception",
    "es": "Por favor, pague el importe de la factura en un plazo de 14 días",
    "it": "Si prega di pagare l'importo della fattura entro 14 giorni dalla data",
    "nl": "Wij verzoeken u het bedrag van de factuur binnen 14 dagen te betalen",
    "pt": "Por favor, pague o valor da fatura no prazo de 14 dias após a emissão",
    "pl": "Prosimy o zapłatę kwoty faktury w terminie 14 dni od daty wystawienia",
    "ja": "請求書の金額を14日以内に下記の口座にお振り込みくださいますようお願いいたします",
    "zh": "请在收到发票后十四天内将款项汇入我们的银行账户谢谢您的惠顾",
    "he": "נא לשלם את סכום החשבונית תוך 14 ימים מיום קבלת החשבונית תודה רבה",
    "no": "Vennligst betal fakturabeløpet innen 14 dager etter at fakturaen er mottatt",
}


@pytest.mark.parametrize("language", LETTERS)
def test_a_sentence_is_enough(language: str) -> None:
    assert dominant_language([LETTERS[language]]) == language


def test_misread_letters_do_not_hide_it() -> None:
    assert (
        dominant_language(["Bitte überwe1sen S1e den Betrag inncrhalb von 14 Tagcn auf unscr Kont0"]) == "de"
    )


@pytest.mark.parametrize(
    "text", ["", "Total 12.50", "4711 A-17/B 99.99 EUR 2026-01-31 " * 20, "\x00\ud800" * 90]
)
def test_too_little_text_is_in_no_language(text: str) -> None:
    assert dominant_language([text]) is None


def test_most_of_a_mixed_document_decides() -> None:
    assert dominant_language([LETTERS["en"], LETTERS["de"] * 3, LETTERS["fr"]]) == "de"
    assert dominant_language([]) is None


def test_letters_of_an_unknown_script_are_in_no_language() -> None:
    assert dominant_language(["ᚠᚢᚦᚨᚱᚲ " * 20]) is None


def test_long_documents_are_looked_at_all_over(make_document: Callable[..., Document]) -> None:
    document = make_document(*(f"page {number}" for number in range(100)))

    seen = excerpts(document.pages)

    assert len(seen) <= MOST_PAGES
    assert (seen[0], seen[-1]) == ("page 0", "page 99")
    assert excerpts([]) == []


SROIE = Path(__file__).parents[3] / ".." / "shared" / "data" / "sroie" / "ocr"


@pytest.mark.skipif(not SROIE.is_dir(), reason="real receipts are not on this machine")
def test_real_receipts_as_recognised_are_english() -> None:
    texts = [
        "\n".join(line[1] for line in json.loads(path.read_text())["lines"])
        for path in sorted(SROIE.glob("*.json"))[:100]
    ]

    found = [dominant_language([text]) for text in texts]

    assert found.count("en") >= 97
