import pytest

from docmill.understanding.text.standard_numbers import OF_SCHEMA, find_numbers, formats_named

NAMED = [
    (("isin", "", ()), ("isin",)),
    (("security_code", "ISIN of the security", ()), ("isin",)),
    (("security", "", ("ISIN",)), ("isin",)),
    (("wkn", "", ()), ("de.wkn",)),
    (("partyLei", "", ()), ("lei",)),
    (("chassis_number", "", ()), ("vin",)),
    (("gtin", "", ()), ("ean",)),
    (("box", "ISO 6346 container number", ()), ("iso6346",)),
    (("nip", "", ()), ("pl.nip",)),
]

NOT_NAMED = [
    ("name", "name of the security", ()),
    ("name", "name of the fund that has this ISIN", ()),
    ("pin", "", ()),
    ("customer_number", "", ()),
    ("issue", "", ()),
]

FOUND = [
    ("isin", "ISIN: US85571B1052", "US85571B1052"),
    ("isin", "ISIN US 85571B 1052", "US85571B1052"),
    ("isin", "WKN/ISIN 716460 / DE0007164600", "DE0007164600"),
    ("de.wkn", "WKN/ISIN 716460 / DE0007164600", "716460"),
    ("isin", "Muster AG (DE0007164600) 12 St.", "DE0007164600"),
    ("isin", "ISINDE0007164600", "DE0007164600"),
    ("iso6346", "Container CSQU 305438-3", "CSQU3054383"),
    ("isbn", "ISBN 978-3-16-148410-0", "9783161484100"),
    ("imei", "IMEI 49-015420-323751-8", "490154203237518"),
    ("imo", "IMO 9074729", "9074729"),
    ("lei", "LEI 5493001KJTIIGC8Y1R12", "5493001KJTIIGC8Y1R12"),
    ("vin", "WVWZZZ1JZXW000001", "WVWZZZ1JZXW000001"),
    ("card", "Visa **** **** **** 1234", "************1234"),
    (f"{OF_SCHEMA}[A-Z]{{2}}-\\d{{2}}/\\d+", "No. KX-12/331 of May", "KX-12/331"),
]

NOT_FOUND = [
    ("isin", "ISIN: US85571B1053"),
    ("isin", "ISIN: US85571B105"),
    ("imei", "IMEI 490154203237519"),
    ("iso6346", "CSQU3054384"),
    ("de.wkn", "Kurs 716,460 EUR"),
    ("de.wkn", "Kosten 40 2021"),
    ("vin", "WVWZZZ1JZXW00000I"),
    (f"{OF_SCHEMA}[A-Z]{{2}}\\d{{4}}", "AB12345 and B1234"),
    (f"{OF_SCHEMA}(", "AB12345"),
]


@pytest.mark.parametrize(("field", "formats"), NAMED)
def test_a_field_has_the_format_that_its_words_name(
    field: tuple[str, str, tuple[str, ...]], formats: tuple[str, ...]
) -> None:
    assert formats_named(*field) == formats


@pytest.mark.parametrize("field", NOT_NAMED)
def test_ordinary_words_name_no_format(field: tuple[str, str, tuple[str, ...]]) -> None:
    assert formats_named(*field) == ()


@pytest.mark.parametrize(("name", "text", "number"), FOUND)
def test_a_number_is_found_however_it_is_written(name: str, text: str, number: str) -> None:
    assert [code.value for code in find_numbers(text, [name])] == [number]


@pytest.mark.parametrize(("name", "text"), NOT_FOUND)
def test_a_number_of_another_form_or_checksum_is_none(name: str, text: str) -> None:
    assert list(find_numbers(text, [name])) == []


def test_only_a_number_whose_checksum_holds_is_valid() -> None:
    (share,), (short,) = find_numbers("DE0007164600", ["isin"]), find_numbers("716460", ["de.wkn"])

    assert share.valid
    assert not short.valid


def test_a_word_of_a_label_is_no_acronym_of_a_format() -> None:
    assert formats_named("reference", labels=["Vs. rif."]) == ()
    assert formats_named("reference", labels=["RIF"]) == ("ve.rif",)
