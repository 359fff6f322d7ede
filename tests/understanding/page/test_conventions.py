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
