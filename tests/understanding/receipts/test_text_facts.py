"""The facts by which names and addresses of receipts are believed."""

from collections.abc import Callable

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Span
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.receipts.text_facts import text_facts

Typeset = Callable[..., Document]

RECEIPT = """
        KAFFEE SONNENHOF GmbH
           Hauptstr. 12
           10115 Berlin
        Tel. 030 1234567
        www.sonnenhof-kaffee.de
Datum 15.03.2026   10:22
Cappuccino                    3,50
Summe EUR                     3,50
   Vielen Dank, dass Sie da waren
"""


def facts_of_line(document: Document, start: str, value: str | None = None) -> dict[str, float]:
    candidates = candidates_of(document)

    def finding(start: str) -> Finding:
        segment = next(one for one in candidates.layout.segments if one.text.startswith(start))
        return Finding(value or segment.text, (Span(segment, 0, len(segment.text)),), 0.9)

    findings = {"seller.name": finding(start), "seller.address": finding("Hauptstr.")}
    return dict(text_facts(findings, candidates)["seller.name"])


def test_a_name_above_its_address_with_a_legal_form_and_in_the_web_address_is_told(typeset: Typeset) -> None:
    facts = facts_of_line(typeset(RECEIPT), "KAFFEE")

    expected = ("legal form", "web", "other near", "contact near")
    assert [facts[name] for name in expected] == [1.0] * len(expected)
    assert (facts["sentence"], facts["priced"], facts["mixed"]) == (0.0, 0.0, 0.0)


def test_a_sentence_and_an_item_are_told_from_names(typeset: Typeset) -> None:
    document = typeset(RECEIPT)

    assert facts_of_line(document, "Vielen Dank")["other near"] == 0.0
    assert facts_of_line(document, "3,50")["priced"] == 1.0


def test_digits_among_the_letters_of_a_word_are_told_as_misread(typeset: Typeset) -> None:
    assert facts_of_line(typeset(RECEIPT.replace("KAFFEE", "KAFF33E")), "KAFF33E")["mixed"] == 1.0


def test_a_name_whose_letters_were_corrected_is_told(typeset: Typeset) -> None:
    document = typeset(RECEIPT)

    assert facts_of_line(document, "KAFFEE", "KAFFEE SONNENHOF GmbX")["corrected"] == 1.0
    assert facts_of_line(document, "KAFFEE")["corrected"] == 0.0


def test_the_seller_in_the_letterhead_is_believed_more_than_one_with_misread_letters(
    typeset: Typeset,
) -> None:
    def belief(text: str) -> float:
        return extract_built_in(typeset(text), REGISTRY["receipt"]).evidence["seller.name"].confidence

    assert belief(RECEIPT) > belief(RECEIPT.replace("KAFFEE SONNENHOF", "KAFF33E S0NNENH0F"))
