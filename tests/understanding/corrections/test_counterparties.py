from collections.abc import Callable, Iterable, Mapping

import pytest

from docmill.model.corrections import CorrectedValue, Correction
from docmill.model.document import Document
from docmill.understanding.corrections.counterparties import (
    ConfirmedValue,
    confirmed_values,
    find_misread_value,
    identifiers,
)

Typeset = Callable[..., Document]

RECEIPT = """
      KEDAI BUKU MAJU SDN BHD
          (123456-X)
   12 JALAN MAWAR 3, TAMAN INDAH
       81100 JOHOR BAHRU
   TEL: 07-355 1234
   GST ID: 001234567890
"""
NAME = {"seller.name": "Kedai Buku Maju Sdn Bhd"}


@pytest.fixture
def found(typeset: Typeset) -> frozenset[str]:
    return identifiers(typeset(RECEIPT))


def test_a_receipt_is_known_by_its_registration_tax_and_telephone_numbers(found: frozenset[str]) -> None:
    assert found == {"registration 123456X", "phone 73551234", "tax 001234567890"}


def test_a_vat_number_identifies_a_vendor(typeset: Typeset) -> None:
    assert identifiers(typeset("Beispiel GmbH\nUSt-IdNr. DE136695976")) == {"tax DE136695976"}


def test_a_telephone_number_is_the_same_with_and_without_its_country(typeset: Typeset) -> None:
    assert identifiers(typeset("Tel: +60 7-355 1234")) == identifiers(typeset("TEL 07-3551234"))


def test_a_number_with_too_few_digits_is_no_telephone(typeset: Typeset) -> None:
    assert identifiers(typeset("Tel: 12 34 56 7")) == frozenset()


def test_a_document_without_pages_has_no_identifiers() -> None:
    assert identifiers(Document("0" * 64, "application/pdf", [])) == frozenset()


def correction(found: Iterable[str], values: Mapping[str, str]) -> Correction:
    given = {path: CorrectedValue(value) for path, value in values.items()}
    return Correction("first.pdf", frozenset(found), frozenset(), given)


def test_a_confirmed_name_is_found_again_by_any_of_its_numbers(found: frozenset[str]) -> None:
    confirmed = confirmed_values([correction(found, NAME)], frozenset({"phone 73551234"}))

    assert confirmed == {
        "seller.name": (ConfirmedValue(NAME["seller.name"], 1, "first.pdf", is_corrected=False),)
    }


def test_a_vendor_never_confirmed_is_not_known(found: frozenset[str]) -> None:
    assert confirmed_values([], found) == {}


def test_a_number_that_two_names_share_tells_neither() -> None:
    phone = frozenset({"phone 1"})
    corrections = [correction(phone, {"seller.name": name}) for name in ("Alpha", "Beta")]

    assert confirmed_values(corrections, phone) == {}


def test_a_numbers_address_is_kept_though_names_differ() -> None:
    phone, address = frozenset({"phone 1"}), {"seller.address": "1 High Street"}
    corrections = [correction(phone, {"seller.name": name, **address}) for name in ("Alpha", "Beta")]

    confirmed = confirmed_values(corrections, phone)

    assert [*confirmed] == ["seller.address"]
    (confirmed_address,) = confirmed["seller.address"]
    assert (confirmed_address.value, confirmed_address.times) == ("1 High Street", 2)


@pytest.mark.parametrize(
    ("read", "address"),
    [
        ("12 JALAN MAWAR 3 81100 J0HOR BAHRU", "12 Jalan Mawar 3, 81100 Johor Bahru"),
        ("99 Jalan Lain, 50000 Kuala Lumpur", None),
        ("", None),
    ],
)
def test_of_several_addresses_only_one_nearly_as_read_is_taken(read: str, address: str | None) -> None:
    tax = frozenset({"tax 1"})
    addresses = ("12 Jalan Mawar 3, 81100 Johor Bahru", "77 Jalan Besar, 47500 Subang Jaya")
    corrections = [correction(tax, {**NAME, "seller.address": value}) for value in addresses]

    confirmed = confirmed_values(corrections, tax)["seller.address"]
    nearest = find_misread_value("seller.address", confirmed, read, is_receipt=True)

    assert (nearest and nearest.value) == address
