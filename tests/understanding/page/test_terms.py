import pytest

from docmill.understanding.page.terms import (
    find_terms,
    is_discount_until,
    is_payable_by,
    says_settled,
    speaks_of_payment,
)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Zahlbar innerhalb von 14 Tagen ohne Abzug", 14),
        ("Zahlung innerhalb 30 Tagen netto bis 04.04.2018", 30),
        ("payable within thirty (30) days", 30),
        ("Net 45", 45),
        ("Paiement à 30 jours", 30),
        ("Pago a 60 días", 60),
        ("Pagamento 60 gg data fattura", 60),
        ("Betaling binnen 14 dagen", 14),
        ("Bayaran dalam 30 hari", 30),
    ],
)
def test_days_to_pay_are_found_in_every_language(text: str, days: int) -> None:
    (term,) = find_terms(text)

    assert (term.days, term.of_payment, term.otherwise) == (days, True, False)


def test_the_days_of_a_discount_are_told_from_those_to_pay() -> None:
    discount, net = find_terms("2 % Skonto bei Zahlung innerhalb von 10 Tagen, 30 Tage netto")

    assert (discount.days, discount.otherwise) == (10, True)
    assert (net.days, net.otherwise) == (30, False)


@pytest.mark.parametrize("text", ["Rückgabe innerhalb von 14 Tagen", "Late payment: interest after 30 days"])
def test_days_of_other_terms_are_not_those_to_pay(text: str) -> None:
    assert all(term.otherwise or not term.of_payment for term in find_terms(text))


@pytest.mark.parametrize("text", ["999 days", "0 Tage", "Netto 300,00", "Rechnung 4711"])
def test_no_days_are_found_where_none_are(text: str) -> None:
    assert not list(find_terms(text))


@pytest.mark.parametrize(
    "text", ["30 jours fin de mois", "60 gg data fattura fine mese", "30 days EOM", "30 days end of month"]
)
def test_the_end_of_the_month_is_part_of_the_term(text: str) -> None:
    (term,) = find_terms(text)

    assert term.month_end


@pytest.mark.parametrize(
    "before",
    ["Zahlbar innerhalb 30 Tagen netto bis ", "Please pay by ", "Payable avant le ", "Pagamento entro il "],
)
def test_a_sentence_on_payment_names_the_last_day(before: str) -> None:
    assert is_payable_by(before)


@pytest.mark.parametrize(
    "before", ["Zahlbar bis 04.04.2018, 3% Skonto bis ", "Lieferung bis ", "Zahlung am "]
)
def test_other_sentences_do_not(before: str) -> None:
    assert not is_payable_by(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Wij verzoeken u het bedrag voor ", " over te maken."),
        ("Der Betrag ist bis ", " zu zahlen."),
        ("Bei Zahlung bis zum 02.03.2026 gewähren wir 2 % Skonto, bis zum ", " ohne Abzug."),
        ("3% discount for payment by 28 February 2026, net by ", "."),
        ("The amount is payable no later than ", "."),
    ],
)
def test_words_on_both_sides_of_a_date_ask_for_payment(before: str, after: str) -> None:
    assert is_payable_by(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Zahlbar bis ", " mit 2 % Skonto, bis 22.03.2026 netto."),
        ("Bei Zahlung bis zum ", " gewähren wir 2 % Skonto."),
        ("3% discount for payment by ", ", net by 22 March 2026."),
        ("Sconto 2 % per pagamento entro il ", ", netto 30 giorni."),
    ],
)
def test_the_last_day_of_a_discount_is_not_that_of_payment(before: str, after: str) -> None:
    assert is_discount_until(before, after)
    assert not is_payable_by(before, after)


def test_a_bill_says_that_it_is_settled() -> None:
    assert says_settled("Der Betrag wurde bereits bezahlt.")
    assert not says_settled("Bitte bezahlen Sie bis morgen.")
    assert speaks_of_payment("Zahlungsbedingungen")
    assert not speaks_of_payment("Skonto bei Zahlung")
