"""Names of the same party, and of others."""

import pytest

from docmill.understanding.constraints.same_party import is_same_party
from docmill.understanding.text.legal_forms import without_legal_form


@pytest.mark.parametrize(
    ("name", "other", "is_same"),
    [
        ("Kestrel Tools Ltd", "KESTREL  TOOLS LTD.", True),
        ("Kestrel Tools Ltd", "Kestrel Tools plc", True),
        ("Sommer GmbH & Co. KG", "Sömmer", True),
        ("Comer Bakery", "Corner Bakery", True),
        ("Kestrel Tools", "Kestrel Tools Sheffield Ltd", True),
        ("Sheffield Kestrel Tools", "Kestrel Tools", True),
        ("Kestrel Tools Ltd", "Wholly Other Traders plc", False),
        ("Kestrel Tools Ltd", "Kestrel Toys and Games Ltd", False),
        ("Aral", "Arla", False),
        ("IBM", "IBN", False),
        ("AB Traders", "AB", False),
        ("Ltd", "", False),
        ("", "", False),
    ],
)
def test_another_spelling_is_the_same_party(name: str, other: str, *, is_same: bool) -> None:
    assert is_same_party(name, other) is is_same
    assert is_same_party(other, name) is is_same


def test_legal_forms_are_taken_off_names() -> None:
    assert without_legal_form("Sommer GmbH & Co. KG") == "Sommer"
    assert without_legal_form("Kestrel Tools") == "Kestrel Tools"
