import pytest

from docmill.matching.parties import (
    Likeness,
    compare_parties,
    identity,
    name_keys,
    name_likeness,
    named_in_text,
    party_key,
)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Sommer GmbH & Co. KG", "sommer"),
        ("Gesellschaft für Licht mbH", "gesellschaft fur licht"),
        ("ENEL S.p.A.", "enel"),
        ("S.p.A. Enel", "enel"),
        ("Renault s.a.s.", "renault"),
        ("Telefónica, S.A.", "telefonica"),
        ("Budimex Sp. z o.o.", "budimex"),
        ("AB Volvo", "volvo"),
        ("Ørsted A/S", "orsted"),
        ("Nokia Oyj", "nokia"),
        ("Škoda Auto a.s.", "skoda auto"),
        ("MOL Nyrt.", "mol"),
        ("Koç Holding A.Ş.", "koc holding"),
        ("Infosys Pvt. Ltd.", "infosys"),
        ("Petronas Sdn Bhd", "petronas"),
        ("Woolworths Pty Ltd", "woolworths"),
        ("Philips B.V.", "philips"),
        ("Grifols SLU", "grifols"),
        ("Galp, Lda.", "galp"),
        ("Dacia S.R.L.", "dacia"),
        ("Acme, Inc.", "acme"),
        ("ООО Ромашка", "romashka"),  # noqa: RUF001
        ("Ελληνικά Πετρέλαια Α.Ε.", "ellinika petrelaia"),  # noqa: RUF001
        ("Meier Bau GmbH Stuttgart", "meier bau stuttgart"),
        ("GmbH", "gmbh"),
        ("", ""),
    ],
)
def test_names_are_compared_without_case_accents_scripts_and_legal_forms(name: str, key: str) -> None:
    assert party_key(name) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Müller & Söhne OHG", "MUELLER UND SOEHNE"),
        ("Schmidt Elektrotechnik und Anlagenbau GmbH", "SCHMIDT ELEKTROTECHNIK UND A"),
        ("Bornmann AG", "Bommann AG"),
        ("Colour Works Ltd", "C0lour W0rks Limited"),
        ("Karl Weber", "Weber Karl"),
    ],
)
def test_the_same_name_is_recognised_as_it_may_be_written(one: str, other: str) -> None:
    assert compare_parties(identity(one), identity(other)) is Likeness.SAME_NAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Apple Inc", "Snapple Inc"),
        ("Bauhaus AG", "Bauhof AG"),
        ("Hotel Post", "Hotel Krone"),
        ("Sun", "Sunrise Oil"),
    ],
)
def test_other_names_are_different_whatever_letters_they_share(one: str, other: str) -> None:
    assert compare_parties(identity(one), identity(other)) is Likeness.DIFFERENT


def test_a_name_with_one_other_letter_is_similar_and_not_the_same() -> None:
    assert compare_parties(identity("Meyer GmbH"), identity("Mayer GmbH")) is Likeness.SIMILAR


def test_vat_identifiers_and_accounts_beat_names() -> None:
    one = identity("Sommer GmbH", vat_id="DE 136 695 976")

    assert compare_parties(one, identity("Winter AG", vat_id="DE136695976")) is Likeness.SAME_IDENTIFIER
    assert (
        compare_parties(
            identity("Sommer", account="DE89 3704 0044 0532 0130 00"),
            identity(account="DE89370400440532013000"),
        )
        is Likeness.SAME_IDENTIFIER
    )


def test_identifiers_with_a_wrong_checksum_are_left_out() -> None:
    party = identity("Sommer", vat_id="DE136695977", account="DE88370400440532013000")

    assert (party.vat_id, party.iban) == ("", "")


def test_other_accounts_of_a_firm_say_nothing_against_it() -> None:
    one = identity("Sommer", account="DE89370400440532013000")
    other = identity("SOMMER", account="AT611904300234573201")

    assert compare_parties(one, other) is Likeness.SAME_NAME


def test_nothing_is_known_of_a_party_without_a_name() -> None:
    assert compare_parties(identity("Sommer"), identity()) is Likeness.UNKNOWN
    assert not identity()


@pytest.mark.parametrize("name", ["Deutsche Telekom", "Müller", "Kröger Rohrbau"])
def test_likeness_is_the_same_both_ways(name: str) -> None:
    for other in ("Dt. Telekom", "Mueller Bau", "Rohrbau Krüger"):
        one, two = party_key(name), party_key(other)
        assert name_likeness(one, two) == pytest.approx(name_likeness(two, one))


def test_a_name_is_found_by_its_words_in_any_order() -> None:
    assert set(name_keys(party_key("Weber Karl"))) == set(name_keys(party_key("KARL WEBER GmbH")))


def test_a_long_name_with_one_other_letter_is_close() -> None:
    assert (
        compare_parties(identity("Kolbe Verpackungen"), identity("Kolbe Verpackungin")) is Likeness.CLOSE_NAME
    )


def test_vat_numbers_of_one_country_and_accounts_tell_close_names_apart() -> None:
    one = identity("Sommer", vat_id="DE136695976")
    other = identity("Sommer", vat_id="DE811193231")
    near = identity("Kolbe Verpackungen", account="DE89370400440532013000")
    far = identity("Kolbe Verpackungin", account="AT611904300234573201")

    assert compare_parties(one, other) is Likeness.SIMILAR
    assert compare_parties(near, far) is Likeness.SIMILAR


@pytest.mark.parametrize(
    ("text", "likeness"),
    [
        ("GUTSCHRIFT RE 4711 KROEGER ROHRBAU GMBH", Likeness.SAME_NAME),
        ("Kröger Rohrb", Likeness.CLOSE_NAME),
        ("Kröger Heizung 4711", Likeness.UNKNOWN),
        ("", Likeness.UNKNOWN),
    ],
)
def test_a_name_is_found_in_the_text_of_a_payment(text: str, likeness: Likeness) -> None:
    assert named_in_text(party_key("Kröger Rohrbau GmbH"), text) is likeness


def test_a_name_of_short_words_is_found_in_no_text() -> None:
    assert named_in_text("abc", "Zahlung an abc") is Likeness.UNKNOWN
