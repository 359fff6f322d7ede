"""The parties of contracts that a sentence names."""

import datetime as dt
from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.agreements import agreement_fields
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand
from docmill.understanding.types.classifier import classify
from docmill.understanding.withholding import FLOOR

Typeset = Callable[..., Document]


def parties(document: Document) -> dict[str, str]:
    found = agreement_fields(candidates_of(document), "contract", {})
    return {path: str(finding.value) for path, finding in found.items()}


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

    found = dict(agreement_fields(candidates_of(page), "contract", {}))

    assert found["first_party.name"].value == "Harbour Tools Ltd"
    assert [span.text for span in found["first_party.name"].spans] == ["Harbour", "Tools Ltd"]


@pytest.mark.parametrize(
    "sentence",
    ["between Monday and Friday of the week", "the choice between price and quality", "between 9 and 5"],
)
def test_what_is_no_name_is_no_party_that_is_believed(typeset: Typeset, sentence: str) -> None:
    found = agreement_fields(candidates_of(typeset(sentence)), "contract", {})

    assert all(finding.probability < 0.85 for finding in found.values())


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


LOAN = """
LOAN AGREEMENT

THIS LOAN AGREEMENT (the "Agreement") is made and entered into as of the 1st day of March, 2019, by and
between Harbour Lights Bank, National Association, a national banking association with offices in Portland,
Maine ("Lender"), and Pine & Thistle Outfitters,
Inc. d/b/a The Thistle Shop, a Maine corporation ("Borrower").
WHEREAS, Borrower has asked for a loan under the agreement dated May 3, 2011 between Lender and Old Mill LLC;
NOW THEREFORE the parties agree as follows.
1. Governing law. Maine.
"""
FRAMEWORK = """
Rahmenvertrag über IT-Dienstleistungen

Dieser Rahmenvertrag (nachfolgend „Vertrag“) wird am 3. Februar 2025 zwischen der Nordwind Systeme AG,
Hafenstraße 1, 28195 Bremen (im Folgenden „Auftragnehmer“) und der Gebrüder Falk Maschinenbau GmbH & Co. KG,
Industrieweg 9, 33602 Bielefeld (im Folgenden „Auftraggeber“), geschlossen.
§ 1 Gegenstand
Gerichtsstand ist Bremen.
"""
DISTRIBUTION = """
CONTRAT DE DISTRIBUTION EXCLUSIVE

Le présent contrat est conclu le 12 mars 2024 entre :
La société Brasserie des Deux Ponts SARL, au capital de 50 000 euros, dont le siège social est situé
14 rue des Tanneurs, 67000 Strasbourg, ci-après dénommée « le Fournisseur »,
et
La société Caves Lemoine SAS, dont le siège social est 3 quai Sud, 69002 Lyon, ci-après dénommée
« le Distributeur ».
Article 1 - Objet
"""
COOPERATION = """
SAMENWERKINGSOVEREENKOMST

De ondergetekenden:
1. Bakkerij Van Dam B.V., gevestigd te Utrecht, hierna te noemen "Van Dam"; en
2. Koffiehuis De Linde V.O.F., gevestigd te Zwolle, hierna te noemen "De Linde";
komen overeen als volgt:
Artikel 1 Looptijd
Aldus overeengekomen en ondertekend op 2 juni 2025.
"""
ADVICE = """
CONTRATO DE PRESTACIÓN DE SERVICIOS

En Sevilla, a 5 de septiembre de 2024
REUNIDOS
De una parte, Aceites del Sur S.L., con CIF B41000000 y domicilio en Calle Feria 20, Sevilla, en adelante «A»,
y de otra parte, Marta Ruiz Lozano, con NIF 00000000T, en adelante «B».
EXPONEN
Que ambas partes acuerdan las cláusulas siguientes.
"""


@pytest.mark.parametrize(
    ("page", "first", "second", "day"),
    [
        (
            LOAN,
            "Harbour Lights Bank, National Association",
            "Pine & Thistle Outfitters, Inc. d/b/a The Thistle Shop",
            dt.date(2019, 3, 1),
        ),
        (
            FRAMEWORK, "Nordwind Systeme AG", "Gebrüder Falk Maschinenbau GmbH & Co. KG",
            dt.date(2025, 2, 3),
        ),
        (DISTRIBUTION, "Brasserie des Deux Ponts SARL", "Caves Lemoine SAS", dt.date(2024, 3, 12)),
        (COOPERATION, "Bakkerij Van Dam B.V.", "Koffiehuis De Linde V.O.F.", dt.date(2025, 6, 2)),
        (ADVICE, "Aceites del Sur S.L.", "Marta Ruiz Lozano", dt.date(2024, 9, 5)),
    ],
)  # fmt: skip
def test_the_preamble_of_an_agreement_tells_its_type_parties_and_day(
    typeset: Typeset, page: str, first: str, second: str, day: dt.date
) -> None:
    classification, extraction = understand(typeset(page))

    data = extraction.data.model_dump()
    assert (classification.document_type, classification.doubt) == ("contract", "")
    assert (data["first_party"]["name"], data["second_party"]["name"]) == (first, second)
    assert data["issue_date"] == day
    paths = ("first_party.name", "second_party.name", "issue_date")
    assert min(extraction.evidence[path].confidence for path in paths) >= FLOOR


@pytest.mark.parametrize(
    ("sentence", "first", "second"),
    [
        (
            "THIS AGREEMENT is between Quarry Lane (Leith) Limited, of Fife, and Edith Marlow, of Leith.",
            "Quarry Lane (Leith) Limited", "Edith Marlow",
        ),
        (
            'This Agreement is by and among Old Mill, N.A. ("A"), Fernhill, L.P. ("B"), and Edith Marlow.',
            "Old Mill, N.A.", "Fernhill, L.P.",
        ),
        (
            "This Lease is made BETWEEN:\n(1) Old Mill Limited of 4 Quay St; and\n(2) Fernhill LLP of Bath\n",
            "Old Mill Limited", "Fernhill LLP",
        ),
        (
            'This Agreement is between Old Mill Inc. a Maine corporation ("Mill") and [*] ("Distributor").',
            "Old Mill Inc.", None,
        ),
    ],
)  # fmt: skip
def test_names_in_a_preamble_are_whole_and_without_what_describes_them(
    typeset: Typeset, sentence: str, first: str, second: str | None
) -> None:
    found = parties(typeset(sentence))

    assert (found["first_party.name"], found.get("second_party.name")) == (first, second)


@pytest.mark.parametrize(
    "sentence",
    [
        "Agreement made this __ day of ____, effective May 1, 2019, between Old Mill LLC and Ann Marlow.",
        "This Agreement is made as of September __, 2018 between Old Mill LLC and Edith Marlow, of Leith.",
        "This Agreement is between Old Mill LLC and Edith Marlow, of Leith. It shall end on July 31, 2029.",
        "This Amendment to the Lease dated May 3, 2015 is made between Old Mill LLC and Fernhill LLP.",
        "Agreement of May 2, 2021 on what was agreed on May 3, 2015 between Old Mill LLC and Fernhill LLP.",
        "This Agreement shall be no contract between the Company and Executive. It is dated May 3, 2011.",
    ],
)
def test_a_day_that_is_left_open_or_of_something_else_is_not_believed(
    typeset: Typeset, sentence: str
) -> None:
    found = agreement_fields(candidates_of(typeset(sentence)), "contract", {})

    assert "issue_date" not in found or found["issue_date"].probability < FLOOR


def test_of_two_people_without_a_legal_form_who_may_be_the_party_neither_is_believed(
    typeset: Typeset,
) -> None:
    sentence = (
        "This Agreement is between The Old Mill LLC, of Portland and South Bend, Indiana and Edith Marlow, of"
        " Leith."
    )

    found = agreement_fields(candidates_of(typeset(sentence)), "contract", {})

    assert found["first_party.name"].value == "The Old Mill LLC"
    assert found["second_party.name"].probability < FLOOR


def test_a_day_behind_the_parties_is_that_of_the_agreement_if_it_is_labelled(typeset: Typeset) -> None:
    sentence = (
        "This Agreement between Old Mill LLC (of Leith and Bath) and Fernhill LLP, dated May 3, 2021, holds."
    )

    found = agreement_fields(candidates_of(typeset(sentence)), "contract", {})

    assert found["second_party.name"].value == "Fernhill LLP"
    assert found["issue_date"].value == dt.date(2021, 5, 3)
    assert found["issue_date"].probability >= FLOOR


def test_of_two_days_of_signatures_neither_is_believed(typeset: Typeset) -> None:
    page = typeset("Executed on May 3, 2021 by Old Mill LLC\nExecuted on May 5, 2021 by Fernhill LLP")

    found = agreement_fields(candidates_of(page), "contract", {})

    assert found["issue_date"].probability < FLOOR


def test_a_preamble_is_found_at_the_beginning_of_a_long_contract(typeset: Typeset) -> None:
    clauses = "\n".join(
        f"{number}. Neither party lends what it was given to others." for number in range(500)
    )

    assert parties(typeset(f"{LOAN}{clauses}"))["second_party.name"].startswith("Pine & Thistle")


def test_a_number_or_day_that_a_sentence_names_is_not_the_contracts(typeset: Typeset) -> None:
    page = LOAN.replace(
        "1. Governing", "The loan is secured by the policy with contract no. 4711 of Mill Life.\n1. Governing"
    )

    _, extraction = understand(typeset(page))

    assert "number" not in extraction.evidence or extraction.evidence["number"].confidence < FLOOR


def test_a_paper_that_names_an_agreement_of_two_others_is_none(typeset: Typeset) -> None:
    page = SELF_BILLED.format(
        title="Invoice", words="Under the agreement between Harbour Tools Ltd and Old Mill Ltd, of Leith."
    )

    assert classify(typeset(page)).document_type == "invoice"


def test_a_paper_of_no_type_that_reads_like_an_agreement_asks(typeset: Typeset) -> None:
    page = """
Hotel by the lake

The owner and the architect, hereinafter both parties, accept the terms of this contract.
Either may give notice of termination. The jurisdiction is Leith.
"""
    classification = classify(typeset(page))

    assert classification.document_type == "other"
    assert "may be a contract" in classification.doubt


def test_a_paper_that_only_mentions_a_contract_does_not_ask(typeset: Typeset) -> None:
    page = "Hotel by the lake\n\nThe contract was won in May. The path leads between two hills to the jetty."

    assert classify(typeset(page)).doubt == ""


def test_a_contract_whose_parties_are_not_found_needs_a_person(typeset: Typeset) -> None:
    document = typeset(
        "Services Agreement\n\nThe parties keep what they learn to themselves. Governing law: Scotland."
    )
    classification, extraction = understand(document)

    verdict = RuleGate().judge(document, extraction, REGISTRY["contract"])

    assert classification.document_type == "contract"
    assert {failure.check for failure in verdict.failures} == {"critical_missing"}


def test_a_text_of_openings_without_an_end_is_no_agreement_and_takes_no_minutes(typeset: Typeset) -> None:
    classification = classify(typeset("between Foo Ltd and\n" * 150))

    assert classification.document_type != "contract"


@pytest.mark.parametrize(("openings", "are_found"), [(50, True), (70, False)])
def test_parties_are_looked_for_behind_the_first_openings_alone(
    typeset: Typeset, openings: int, *, are_found: bool
) -> None:
    before = "The rooms between them are let.\n" * openings

    found = parties(typeset(f"{before}This Agreement is made between Old Mill LLC and Fernhill LLP.\n"))

    assert ("second_party.name" in found) == are_found


@pytest.mark.parametrize(("joints", "are_found"), [(30, True), (50, False)])
def test_the_second_party_is_looked_for_behind_the_first_joints_alone(
    typeset: Typeset, joints: int, *, are_found: bool
) -> None:
    address = "and\n" * joints

    found = parties(
        typeset(f"This Agreement is made between Old Mill LLC, {address}and Fernhill LLP, for a year.\n")
    )

    assert (found.get("second_party.name") == "Fernhill LLP") == are_found


RECITAL = """
OLD MILL TOOLS, INC.

ENDORSEMENT AGREEMENT

WHEREAS, Old Mill Tools, Inc. (the "Company") and the Trustees of the Fernhill Family Trust (the "Trust") have
made an assignment of policies; and
NOW THEREFORE the parties agree as follows. The notice period is a year. Governing law: Maine.

IN WITNESS WHEREOF, the parties have executed this Agreement as of this 4th day of April, 2019.

OLD MILL TOOLS, INC.

By: /s/ Edith Marlow

THE FERNHILL FAMILY TRUST

By: /s/ Oliver Hartnell

Oliver Hartnell, Trustee
"""
UNDERSIGNED = """
JOINT FILING AGREEMENT

The undersigned agree to the joint filing of a statement. Each party to this agreement may terminate it.
Governing law: Maine.

IN WITNESS WHEREOF, the undersigned have executed this Agreement.

FERNHILL IMPACT FUND L.P.

By: Old Mill Management LLC,

its General Partner

By: /s/ Edith Marlow

QUARRY LANE LLC

By: /s/ Oliver Hartnell

"""


def test_parties_with_a_short_form_in_a_recital_are_believed_if_they_sign(typeset: Typeset) -> None:
    classification, extraction = understand(typeset(RECITAL))

    data = extraction.data.model_dump()
    assert classification.document_type == "contract"
    assert data["first_party"]["name"].upper() == "OLD MILL TOOLS, INC."
    assert data["second_party"]["name"] == "Fernhill Family Trust"
    assert data["issue_date"] == dt.date(2019, 4, 4)
    assert min(extraction.evidence[path].confidence for path in ("first_party.name", "issue_date")) >= FLOOR


def test_parties_that_are_named_above_signatures_alone_are_suggested(typeset: Typeset) -> None:
    _, extraction = understand(typeset(UNDERSIGNED))

    proof = extraction.evidence
    assert proof["first_party.name"].text == "FERNHILL IMPACT FUND L.P."
    assert proof["second_party.name"].text == "QUARRY LANE LLC"
    assert max(proof[path].confidence for path in ("first_party.name", "second_party.name")) < FLOOR


def test_who_signs_is_found_above_the_end_of_a_page(typeset: Typeset) -> None:
    page = RECITAL.replace("By: /s/ Edith Marlow", "\fBy: /s/ Edith Marlow")

    data = understand(typeset(page)).extraction.data.model_dump()

    assert data["first_party"]["name"].upper() == "OLD MILL TOOLS, INC."
    assert data["second_party"]["name"] == "Fernhill Family Trust"


def test_parties_of_a_preamble_who_do_not_sign_are_not_believed(typeset: Typeset) -> None:
    page = LOAN + UNDERSIGNED[UNDERSIGNED.index("IN WITNESS") :]

    found = agreement_fields(candidates_of(typeset(page)), "contract", {})

    assert found["first_party.name"].value == "Harbour Lights Bank, National Association"
    assert max(found[path].probability for path in ("first_party.name", "second_party.name")) < FLOOR


def test_a_name_whose_end_is_unsure_is_believed_if_it_is_printed_again(typeset: Typeset) -> None:
    sentence = "This Agreement is made between Old Mill LLC and Fernhill Water, of Leith.\n"

    once, twice = (
        agreement_fields(candidates_of(typeset(sentence + more)), "contract", {})["second_party.name"]
        for more in ("Governing law: Maine.", "Notices to Fernhill Water go to Leith.")
    )

    assert (once.value, twice.value) == ("Fernhill Water", "Fernhill Water")
    assert once.probability < FLOOR <= twice.probability


COVER = """
MASTER SUPPLY AGREEMENT

Harbour Lights Bank, National Association

Pine & Thistle Outfitters, Inc. d/b/a The Thistle Shop
"""


@pytest.mark.parametrize(
    ("cover", "first"),
    [(COVER, "Harbour Lights Bank, National Association"), ("MASTER SUPPLY AGREEMENT", None)],
)
def test_a_preamble_behind_many_pages_is_that_of_the_parties_on_the_cover(
    typeset: Typeset, cover: str, first: str | None
) -> None:
    contents = [
        "\n".join(f"{page}.{number} Duties and costs of delivery ..... {number}" for number in range(20))
        for page in range(1, 5)
    ]
    pages = "\f".join([cover, *contents, LOAN, "1. Delivery", "2. Price"])

    found = agreement_fields(candidates_of(typeset(pages)), "contract", {})

    assert ("first_party.name" in found) is (first is not None)
    if first is not None:
        assert found["first_party.name"].value == first
        assert found["issue_date"].value == dt.date(2019, 3, 1)
