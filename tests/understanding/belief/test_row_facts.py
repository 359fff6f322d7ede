"""Belief in values of lists: by the arithmetic of their rows, their form, and the other rows."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate
from docmill.understanding.router import GateRouter

Typeset = Callable[..., Document]

INVOICE = """
Muster GmbH                                              Rechnung Nr. 4711
Hauptstr. 1                                              Datum: 01.02.2024
12345 Berlin

Bezeichnung                        Menge      E-Preis     Gesamt
Schrauben M8 verzinkt                 10         1,50      15,00
Muttern M8                             4        20,00      80,00

                                        Nettobetrag        95,00
                                        MwSt 19%           18,05
                                        Gesamtbetrag      113,05
"""
STATEMENT = """
Kontoauszug                                IBAN DE02 1203 0000 0000 2020 51
Zeitraum: 01.12.2025 bis 31.01.2026

Datum     Buchungstext                                   Betrag      Saldo
          Anfangssaldo                                            1.000,00
30.12.    Gutschrift Rieselfeld GmbH RE 26-0481         +250,00   1.250,00
02.01.    Lastschrift Kontoführung 10/2026              -300,00     950,00
05.01.    Miete                                         -100,00     850,00
          Endsaldo                                                  850,00
"""


def beliefs(document: Document, kind: str = "invoice") -> Mapping[str, float]:
    evidence = extract_by_rules(document, REGISTRY[kind]).evidence
    return {path: proof.confidence for path, proof in evidence.items()}


def test_values_of_a_row_whose_product_is_its_amount_are_sure(typeset: Typeset) -> None:
    found = beliefs(typeset(INVOICE))

    of_row = [found[f"lines[0].{name}"] for name in ("quantity", "unit_price", "net_amount")]
    assert min(of_row) > 0.97


def test_a_quantity_that_gives_another_amount_is_not_believed(typeset: Typeset) -> None:
    wrong = INVOICE.replace("10         1,50", "70         1,50")

    assert beliefs(typeset(wrong))["lines[0].quantity"] < 0.85 < beliefs(typeset(wrong))["lines[1].quantity"]


def test_a_description_that_is_a_code_is_not_believed(typeset: Typeset) -> None:
    coded = INVOICE.replace("Schrauben M8 verzinkt", "GZ250                ")

    assert beliefs(typeset(coded))["lines[0].description"] < 0.85
    assert beliefs(typeset(INVOICE))["lines[0].description"] > 0.85


async def test_a_cell_below_its_floor_is_null_and_a_suggestion_and_its_row_still_asks(
    typeset: Typeset,
) -> None:
    document = typeset(INVOICE.replace("10         1,50", "70         1,50"))
    read = extract_by_rules(document, REGISTRY["invoice"])

    judged = await GateRouter(RuleGate()).judge(read, document, REGISTRY["invoice"])

    lines = judged.extraction.data.model_dump()["lines"]
    assert [line["quantity"] for line in lines] == [None, Decimal(4)]
    assert [line["net_amount"] for line in lines] == [Decimal("15.00"), Decimal("80.00")]
    assert [one.value for one in judged.extraction.suggestions["lines[0].quantity"]] == ["70"]
    assert "line_amount" in {failure.check for failure in judged.verdict.failures}


def test_bookings_that_lead_from_balance_to_balance_are_sure_and_guessed_names_are_not(
    typeset: Typeset,
) -> None:
    found = beliefs(typeset(STATEMENT), "bank_statement")

    assert min(found["transactions[0].amount"], found["transactions[1].amount"]) > 0.97
    assert found["transactions[1].counterparty"] < 0.6 < found["transactions[0].counterparty"]
