"""The parties of contracts that a sentence names."""

import datetime as dt
from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.constraints.agreements import agreement_parties
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.offline import understand
from docmill.understanding.types.classifier import classify

Typeset = Callable[..., Document]


def parties(document: Document) -> dict[str, object]:
    found = agreement_parties(candidates_of(document), "contract")
    return {path: finding.value for path, finding in found}


@pytest.mark.parametrize(
    ("sentence", "first", "second"),
    [
        (
            "made between Harbour Tools Ltd (the Provider) and Annie Bell, of Leith.",
            "Harbour Tools Ltd", "Annie Bell",
        ),
        (
            "by and between Smith and Sons Ltd, hereinafter the Seller, and Mill & Co Ltd, of York",
            "Smith and Sons Ltd", "Mill & Co Ltd",
        ),
        (
            "zwischen der Firma Nordlicht GmbH - nachfolgend Vermieter - und Frau Anna Berg",
            "Nordlicht GmbH", "Anna Berg",
        ),
        (
            "Entre la société Ateliers SARL et Madame Rose Petit, il a été convenu",
            "Ateliers SARL", "Rose Petit",
        ),
        (
            "De una parte Talleres S.L., en adelante A, y de otra parte Rosa Vega, en adelante B",
            "Talleres S.L.", "Rosa Vega",
        ),
        (
            "Tra Officine S.r.l. e Anna Rossi, di seguito il cliente",
            "Officine S.r.l.", "Anna Rossi",
        ),
        (
            "Entre Oficinas do Tejo, Lda., primeiro outorgante, e Rui Costa, segundo outorgante",
            "Oficinas do Tejo, Lda.", "Rui Costa",
        ),
        (
            "zawarta pomiędzy Wisła Sp. z o.o., zwaną dalej A, a Janem Nowakiem, zwanym dalej B",
            "Wisła Sp. z o.o.", "Janem Nowakiem",
        ),
        (
            "De ondergetekenden: Polder B.V., hierna opdrachtnemer, en Anna Smit, hierna",
            "Polder B.V.", "Anna Smit",
        ),
        (
            "har träffats mellan Vindö AB, nedan kallad A, och Anna Berg, nedan kallad B",
            "Vindö AB", "Anna Berg",
        ),
        (
            "er indgået mellem Fjorden ApS, herefter A, og Anna Holm, herefter B",
            "Fjorden ApS", "Anna Holm",
        ),
    ],
)  # fmt: skip
def test_both_parties_of_a_sentence_are_found(
    typeset: Typeset, sentence: str, first: str, second: str
) -> None:
    assert parties(typeset(sentence)) == {"first_party.name": first, "second_party.name": second}


def test_a_name_over_the_end_of_a_line_is_whole_and_has_both_places(typeset: Typeset) -> None:
    page = typeset("made between Harbour\nTools Ltd, the Provider, and Annie Bell, the Client")

    found = dict(agreement_parties(candidates_of(page), "contract"))

    assert found["first_party.name"].value == "Harbour Tools Ltd"
    assert [span.text for span in found["first_party.name"].spans] == ["Harbour", "Tools Ltd"]


@pytest.mark.parametrize(
    "sentence",
    ["between Monday and Friday of the week", "the choice between price and quality", "between 9 and 5"],
)
def test_what_is_no_name_is_no_party_that_is_believed(typeset: Typeset, sentence: str) -> None:
    found = agreement_parties(candidates_of(typeset(sentence)), "contract")

    assert all(finding.probability < 0.85 for _, finding in found)


def test_a_contract_is_named_with_its_parties_and_its_title(typeset: Typeset) -> None:
    page = """
Service Agreement

This agreement is made on 3 April 2026 between Harbour Tools Ltd (the Provider)
and Annie Bell (the Client). The notice period is three months. Governing law: Scotland.
"""

    classification, extraction = understand(typeset(page))

    data = extraction.data.model_dump()
    assert classification.document_type == "contract"
    assert (data["first_party"]["name"], data["second_party"]["name"]) == ("Harbour Tools Ltd", "Annie Bell")
    assert data["subject"] == "Service Agreement"


SELF_BILLED = """
Harbour Tools Ltd
4 Dock Street, Leith EH6 6QQ

{title} 2026-77
Date: 03.04.2026

Annie Bell
9 Mill Lane, Leith EH6 5AA

{words}

Description                Quantity      Price      Amount
Torque wrench              2             40.00      80.00

Total                                               80.00 EUR
"""


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Gutschrift", "Gutschrift gemäß § 14 Abs. 2 UStG"),
        ("Gutschrift", "Wir rechnen im Gutschriftsverfahren ab."),
        ("Factura rectificativa", "Autofactura"),
        ("Faktura korygująca", "Samofakturowanie"),
    ],
)
def test_an_invoice_that_the_buyer_writes_is_no_credit_note(typeset: Typeset, title: str, words: str) -> None:
    classification = classify(typeset(SELF_BILLED.format(title=title, words=words)))

    assert (classification.document_type, classification.doubt) == ("invoice", "")


def test_a_gutschrift_that_does_not_say_which_of_both_it_is_asks(typeset: Typeset) -> None:
    classification = classify(typeset(SELF_BILLED.format(title="Gutschrift", words="")))

    assert "may mean invoice or credit note" in classification.doubt


@pytest.mark.parametrize(
    ("first", "second", "signed"),
    [
        ("Fernhill Joinery Ltd\n7 Canal Row, Bath BA2 4QX", "Oliver Hartnell\n14 Mill Street", "Signed on"),
        (
            "Bruni S.r.l.\nVia Cavour 21, 50129 Firenze",
            "Praxis Dr. Ahlers GmbH\n14 Mill Street",
            "Firmado el",
        ),
        ("Lacombe SARL 3 quai des Tanneurs", "Elena Ricciardi\n14 Mill Street, Westbury", "Getekend op"),
    ],
)
def test_an_address_below_or_behind_a_party_is_no_part_of_its_name(
    typeset: Typeset, first: str, second: str, signed: str
) -> None:
    page = (
        f"Maintenance Agreement\n\nbetween\n\n{first}\n(hereinafter Provider)\n\nand\n\n{second}\n"
        f"(hereinafter Client)\n\n1. It is governed by the law of Scotland.\n\n{signed} 13.09.2026\n"
    )

    data = understand(typeset(page)).extraction.data.model_dump()

    assert data["first_party"]["name"] == first.split("\n", maxsplit=1)[0].removesuffix(
        " 3 quai des Tanneurs"
    )
    assert data["second_party"]["name"] == second.split("\n", maxsplit=1)[0]
    assert data["issue_date"] == dt.date(2026, 9, 13)
    assert data["subject"] == "Maintenance Agreement"
