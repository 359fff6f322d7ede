import pytest

from docmill.understanding.text.codes import (
    find_bics,
    find_ibans,
    find_identifiers,
    find_vat_ids,
    find_vat_numbers,
    is_bic,
    is_iban,
    is_vat_id,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("IBAN: DE89 3704 0044 0532 0130 00 BIC: COBADEFFXXX", "DE89370400440532013000"),
        ("FR1420041010050500013M02606", "FR1420041010050500013M02606"),
        ("DE89 37O4 0044 0532 0130 00", "DE89370400440532013000"),
    ],
)
def test_an_iban_is_read_up_to_where_its_checksum_holds(text: str, value: str) -> None:
    assert [code.value for code in find_ibans(text)] == [value]


@pytest.mark.parametrize("text", ["DE89 3704 0044 0532 0130 01", "DE12", "no account here"])
def test_a_wrong_iban_is_not_read(text: str) -> None:
    assert list(find_ibans(text)) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("USt-IdNr.: DE136695976", "DE136695976"),
        ("TVA FR44732829320", "FR44732829320"),
        ("VAT Reg No: GB123456782", "GB123456782"),
        ("CHE-116.281.710 MWST", "CHE116281710MWST"),
    ],
)
def test_a_vat_id_is_read_in_its_compact_form(text: str, value: str) -> None:
    assert [code.value for code in find_vat_ids(text)] == [value]


def test_a_vat_id_with_a_wrong_digit_is_not_read() -> None:
    assert list(find_vat_ids("DE136695977")) == []
    assert not is_vat_id("XX123")


def test_a_bic_has_a_country() -> None:
    assert [code.value for code in find_bics("BIC COBADEFFXXX, CHARGES")] == ["COBADEFFXXX"]
    assert is_bic("COBADEFF")
    assert not is_bic("COBAZZFF")


def test_an_iban_must_hold_its_checksum() -> None:
    assert is_iban("DE89370400440532013000")
    assert not is_iban("DE89370400440532013001")


def test_identifiers_are_words_with_digits() -> None:
    found = [code.value for code in find_identifiers("Invoice No. RE-2026/104, page 1, " + "9" * 40)]

    assert found == ["RE-2026/104", "1"]


@pytest.mark.parametrize(
    ("text", "country", "values"),
    [
        ("NIP: 526-104-08-28, REGON", "PL", ["PL5261040828"]),
        ("NIF 501 964 843", "PT", ["PT501964843"]),
        ("CVR-nr. 13585628", "DK", ["DK13585628"]),
        ("P. IVA 00743110157", "IT", ["IT00743110157"]),
        ("NIF B58378431", "ES", ["ESB58378431"]),
        ("NIP: 526-104-08-29", "PL", []),
        ("PL5261040828", "PL", []),
        ("CVR-nr. 13585628-1", "DK", []),
    ],
)
def test_a_vat_number_without_its_prefix_is_known_by_its_check_digits(
    text: str, country: str, values: list[str]
) -> None:
    assert [code.value for code in find_vat_numbers(text, country)] == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Fatura n.º FT 2026/77", ["FT 2026/77"]),
        ("Nota de crédito NC A/12 de 12-03-2026", ["NC A/12", "12-03-2026"]),
        ("Fatura-Recibo: FR 001.B/345", ["FR 001.B/345"]),
        ("Faktura NR 5/2026", ["5/2026"]),
        ("10 FT 12 / 20 FT 8", ["10", "12", "20", "8"]),
    ],
)
def test_the_code_of_a_portuguese_document_is_part_of_its_number(text: str, values: list[str]) -> None:
    assert [code.value for code in find_identifiers(text)] == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Invoice No: SI 2026/77", ["SI 2026/77"]),
        ("Rechnung Nr. RE 4711 vom 10.01.2026", ["RE 4711", "10.01.2026"]),
        ("Facture n° FA 2026 0042", ["FA 2026 0042"]),
        ("RE 4711", ["RE 4711"]),
        ("Numer faktury: FV 12/01/2026", ["FV 12/01/2026"]),
        ("Total: EUR 4711", ["4711"]),
        ("Page No. A 1", ["1"]),
        ("Order No. PO Box 1234", ["1234"]),
    ],
)
def test_a_series_and_a_space_belong_to_the_number_behind_a_mark(text: str, values: list[str]) -> None:
    assert [code.value for code in find_identifiers(text)] == values
