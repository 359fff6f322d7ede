import pytest

from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.constraints.name_lines import name_range


@pytest.mark.parametrize(
    "text",
    [
        "Müller GmbH",
        "Bank of America",
        "Citizens for the Future of Our State",
        "Association pour la protection des oiseaux",
        "Restaurant Au bon coin",
        "THE SHOP ON THE CORNER OF THE STREET",
        "tante emma laden in berlin",
        "24 Hour Fitness",
        "Studio 54",
        "R M Williams",
        "Capital One",
        "3 Street Kitchen Ltd",
        "Invoice Ninja",
        "Verein (zur Pflege)",
        "Contoso",
    ],
)
def test_a_name_may_be_a_name(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "Coordonnées bancaires pour virements",
        "Not to be used for payment remittance)",
        "1 rue de la Banque",
        "Siège social : 16 rue Mollien",
        "Hauptstr. 12",
        "12 Main Street",
        "Wir danken für ihren Einkauf",
        "Invoice Number",
        "Reg. Merc. de Madrid",
        "Receipt",
        "Lieferadresse",
        "",
        "***",
    ],
)
def test_a_street_a_label_or_a_sentence_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_the_first_word_of_a_street_is_no_part_of_the_name_before_it() -> None:
    name = "Papier-Hurt Sp. z o.o., ul."

    start, stop = name_range(name)

    assert name[start:stop] == "Papier-Hurt Sp. z o.o."
