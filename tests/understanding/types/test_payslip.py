"""Payslips are recognised and read by their words alone; what does not add up is shown to a person."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand

Typeset = Callable[..., Document]

PAYSLIP = """
{title}

{employer}: Harbour Tools Ltd
{employee}: Annie Bell
{number}: E-0417
{period}: 01/08/2026 - 31/08/2026
{paid}: 28/08/2026

{tax}                                388.60
{social}                             155.36
{gross}                            2,990.00
{deductions}                         543.96
{net}                              2,446.04
"""
ENGLISH = {
    "title": "Payslip",
    "employer": "Employer",
    "employee": "Employee",
    "number": "Employee No.",
    "period": "Pay period",
    "paid": "Payment date",
    "gross": "Gross pay",
    "tax": "Income tax",
    "social": "National Insurance",
    "deductions": "Total deductions",
    "net": "Net pay",
}
LANGUAGES = {
    "de": (
        "Gehaltsabrechnung",
        "Arbeitgeber",
        "Mitarbeiter",
        "Personalnummer",
        "Abrechnungszeitraum",
        "Auszahlungsdatum",
        "Gesamtbrutto",
        "Lohnsteuer",
        "Sozialversicherung",
        "Gesamtabzüge",
        "Auszahlungsbetrag",
    ),
    "fr": (
        "Bulletin de paie",
        "Employeur",
        "Salarié",
        "Matricule",
        "Période de paie",
        "Date de paiement",
        "Salaire brut",
        "Prélèvement à la source",
        "Cotisations sociales",
        "Total des retenues",
        "Net à payer",
    ),
    "es": (
        "Nómina",
        "Empresa",
        "Trabajador",
        "Nº de empleado",
        "Periodo de liquidación",
        "Fecha de pago",
        "Total devengado",
        "IRPF",
        "Seguridad Social",
        "Total a deducir",
        "Líquido a percibir",
    ),
    "it": (
        "Busta paga",
        "Azienda",
        "Dipendente",
        "Matricola",
        "Periodo di paga",
        "Data di pagamento",
        "Totale competenze",
        "IRPEF",
        "Contributi INPS",
        "Totale trattenute",
        "Netto in busta",
    ),
    "nl": (
        "Loonstrook",
        "Werkgever",
        "Werknemer",
        "Personeelsnummer",
        "Loonperiode",
        "Betaaldatum",
        "Brutoloon",
        "Loonheffing",
        "Sociale premies",
        "Totaal inhoudingen",
        "Nettoloon",
    ),
    "pt": (
        "Recibo de vencimento",
        "Entidade patronal",
        "Trabalhador",
        "N.º de funcionário",
        "Período",
        "Data de pagamento",
        "Total de abonos",
        "IRS",
        "Segurança Social",
        "Total de descontos",
        "Líquido a receber",
    ),
    "pl": (
        "Pasek wynagrodzeń",
        "Pracodawca",
        "Pracownik",
        "Nr pracownika",
        "Okres",
        "Data wypłaty",
        "Wynagrodzenie brutto",
        "Zaliczka na podatek",
        "Składki ZUS",
        "Razem potrącenia",
        "Do wypłaty",
    ),
    "sv": (
        "Lönespecifikation",
        "Arbetsgivare",
        "Anställd",
        "Anställningsnummer",
        "Löneperiod",
        "Utbetalningsdag",
        "Bruttolön",
        "Preliminär skatt",
        "Sociala avgifter",
        "Summa avdrag",
        "Nettolön",
    ),
    "da": (
        "Lønseddel",
        "Arbejdsgiver",
        "Medarbejder",
        "Medarbejdernummer",
        "Lønperiode",
        "Udbetalingsdato",
        "Bruttoløn",
        "A-skat",
        "AM-bidrag",
        "Fradrag i alt",
        "Til udbetaling",
    ),
}
WORDINGS = {
    "en": ENGLISH,
    **{language: dict(zip(ENGLISH, words, strict=True)) for language, words in LANGUAGES.items()},
}


def failed(document: Document, extraction: Extraction) -> list[str]:
    schema = REGISTRY[extraction.document_type]
    return [failure.check for failure in RuleGate().judge(document, extraction, schema).failures]


@pytest.mark.parametrize("wording", WORDINGS.values(), ids=WORDINGS.keys())
def test_a_payslip_is_recognised_and_read_in_every_language(
    typeset: Typeset, wording: dict[str, str]
) -> None:
    document = typeset(PAYSLIP.format(**wording))

    classification, extraction = understand(document)

    assert classification.document_type == extraction.document_type == "payslip"
    assert classification.title == "Payslip, Harbour Tools Ltd"
    assert classification.document_date == dt.date(2026, 8, 28)
    data = extraction.data.model_dump(exclude_none=True)
    assert data == {
        "employer": {"name": "Harbour Tools Ltd"},
        "employee": {"name": "Annie Bell"},
        "employee_number": "E-0417",
        "period_start": dt.date(2026, 8, 1),
        "period_end": dt.date(2026, 8, 31),
        "payment_date": dt.date(2026, 8, 28),
        "gross_pay": Decimal("2990.00"),
        "income_tax": Decimal("388.60"),
        "social_contributions": Decimal("155.36"),
        "total_deductions": Decimal("543.96"),
        "net_pay": Decimal("2446.04"),
    }
    assert extraction.evidence["net_pay"].text == "2,446.04"
    assert all(evidence.box is not None for evidence in extraction.evidence.values())
    assert failed(document, extraction) == []


@pytest.mark.parametrize(
    ("printed", "other", "check"),
    [("2,446.04", "2,346.04", "pay_sum"), ("2,446.04", "3,446.04", "net_above_gross")],
)
def test_pay_that_does_not_add_up_is_shown_to_a_person(
    typeset: Typeset, printed: str, other: str, check: str
) -> None:
    document = typeset(PAYSLIP.format(**ENGLISH).replace(printed, other))

    assert check in failed(document, understand(document).extraction)


def test_net_pay_that_leaves_no_room_for_tax_and_contributions_is_shown_to_a_person(typeset: Typeset) -> None:
    page = PAYSLIP.format(**ENGLISH).replace("2,446.04", "2,900.00").replace(ENGLISH["deductions"], "Pension")

    extraction = understand(typeset(page)).extraction

    assert extraction.data.model_dump()["total_deductions"] is None
    assert failed(typeset(page), extraction) == ["pay_above_remainder"]


def test_amounts_beside_those_of_the_year_so_far_are_shown_to_a_person(typeset: Typeset) -> None:
    page = PAYSLIP.format(**ENGLISH)
    for amount, of_the_year in (("2,990.00", "8,970.00"), ("543.96", "1,631.88"), ("2,446.04", "7,338.12")):
        page = page.replace(f" {amount}", f" {of_the_year}          {amount}")

    extraction = understand(typeset(page)).extraction

    assert extraction.document_type == "payslip"
    assert "confidence" in failed(typeset(page), extraction)


@pytest.mark.parametrize("heading", ["Year to date", "Cumul annuel", "Jahreswerte"])
def test_a_page_with_the_amounts_of_the_year_alone_is_shown_to_a_person(
    typeset: Typeset, heading: str
) -> None:
    page = PAYSLIP.format(**ENGLISH).replace("Income tax", f"{heading:>42}\nIncome tax")

    extraction = understand(typeset(page)).extraction

    assert extraction.document_type == "payslip"
    assert extraction.evidence["net_pay"].confidence < 0.6
    assert "confidence" in failed(typeset(page), extraction)


def test_deductions_with_a_minus_are_what_is_kept_back(typeset: Typeset) -> None:
    page = PAYSLIP.format(**ENGLISH)
    for amount in ("388.60", "155.36", "543.96"):
        page = page.replace(f" {amount}", f"-{amount}")
    document = typeset(page)

    extraction = understand(document).extraction

    assert "-543.96" in document.text
    assert extraction.data.model_dump()["total_deductions"] == Decimal("543.96")
    assert extraction.data.model_dump()["income_tax"] == Decimal("388.60")
    assert failed(document, extraction) == []


def test_a_negative_net_pay_is_shown_to_a_person(typeset: Typeset) -> None:
    document = typeset(PAYSLIP.format(**ENGLISH))
    extraction = understand(document).extraction
    data = extraction.data.model_copy(update={"net_pay": Decimal("-1.00"), "total_deductions": None})

    assert "negative_pay" in failed(document, extraction.model_copy(update={"data": data}))


def test_a_name_without_a_label_is_shown_to_a_person(typeset: Typeset) -> None:
    page = PAYSLIP.format(**ENGLISH).replace("Employer: Harbour Tools Ltd", "Harbour Tools Ltd")
    document = typeset(page)

    extraction = understand(document).extraction

    assert extraction.document_type == "payslip"
    assert {"critical_missing", "confidence"} & set(failed(document, extraction))


def test_a_name_that_is_likely_but_not_sure_is_shown_to_a_person(typeset: Typeset) -> None:
    document = typeset(PAYSLIP.format(**ENGLISH))
    extraction = understand(document).extraction
    likely = extraction.evidence["employer.name"].model_copy(update={"confidence": 0.77})

    doubted = extraction.model_copy(update={"evidence": {**extraction.evidence, "employer.name": likely}})

    assert failed(document, doubted) == ["confidence"]


def test_a_postcode_beside_an_empty_field_is_no_number_of_an_employee(typeset: Typeset) -> None:
    page = PAYSLIP.format(**ENGLISH).replace(
        "Employee No.: E-0417", "Employee No.                  25210 Doubs"
    )

    extraction = understand(typeset(page)).extraction

    assert extraction.document_type == "payslip"
    assert "employee_number" not in extraction.evidence


@pytest.mark.parametrize(
    "page",
    [
        "Dear Ms Bell\n\nYour payslip for August is ready. The handbook explains gross pay and net pay.",
        "Payslip\n\nPlease find your payslip enclosed.\n\nKind regards",
        """
        Invoice

        Invoice number: R-17        Date: 03/04/2026
        Payroll Bureau Ltd, 4 Dock Street, Leith EH6 6QQ

        Description           Quantity    Price     Amount
        Payslip per employee  12          4.00      48.00

        Net total                                   48.00
        VAT 20%                                      9.60
        Total                                       57.60 GBP
        """,
    ],
)
def test_what_only_speaks_of_payslips_is_none(typeset: Typeset, page: str) -> None:
    assert understand(typeset(page)).classification.document_type != "payslip"
