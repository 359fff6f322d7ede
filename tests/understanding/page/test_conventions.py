"""Conventions of a document that its own texts tell."""

import pytest
from tests.understanding.conftest import Typeset

from docmill.understanding.fields.analysis_cache import candidates_of


@pytest.mark.parametrize(
    ("head", "currency"),
    [
        ("Shop 12, Nathan Road, Kowloon, Hong Kong", "HKD"),
        ("220 King St W, Toronto M5H 1K4", "CAD"),
        ("1200 Rue Peel, Montréal", "CAD"),
        ("Hong Kong Kitchen, 5 Mott St, New York, NY 10013", "USD"),
        ("Maple Diner, 12 Main St, Ontario, CA 91761", "USD"),
        ("Corner Shop, Main Street 4", "USD"),
    ],
)
def test_the_place_tells_which_dollar_a_bare_sign_is(typeset: Typeset, head: str, currency: str) -> None:
    document = typeset(f"{head}\n\nCoffee              $4.50\nTotal               $4.50\n")

    assert candidates_of(document).conventions.currency == currency


@pytest.mark.parametrize(
    ("page", "currency"),
    [
        ("Datum: 12.07.2021\nUkupno:    72,00 kn\nPribl.     9,55 EUR", "HRK"),
        ("Datum: 12.07.2022\nUkupno HRK 72,00\nProtuvrijednost 9,56 EUR EUR EUR", "HRK"),
        ("Datum: 12.07.2023\nUkupno     9,56 EUR\n72,00 HRK   HRK   HRK", "EUR"),
        ("Data: 2014-12-30\nSuma 34,53 LTL\n10,00 EUR   EUR", "LTL"),
        ("Data: 2015-02-03\nSuma 10,00 EUR\n34,53 LTL   LTL", "EUR"),
        ("Datum: 12.07.2021\nUkupno:    72,00 Kuna", "HRK"),
        ("Datum: 20.12.2022\nRok: 30.01.2023\nUkupno HRK 72,00\n9,56 EUR   10,00 HRK", "HRK"),
        ("Datum: 12.07.2023\nStaro:    72,00 HRK", "HRK"),
    ],
)
def test_of_the_euro_and_the_currency_before_it_that_of_the_day_is_meant(
    typeset: Typeset, page: str, currency: str
) -> None:
    assert candidates_of(typeset(page)).conventions.currency == currency
