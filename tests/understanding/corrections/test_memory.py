from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.corrections.memory import Memory, identifiers

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


def test_a_confirmed_name_is_found_again_by_any_of_its_numbers(found: frozenset[str]) -> None:
    memory = Memory()
    memory.add(found, NAME)

    remembered = memory.lookup(frozenset({"phone 73551234"}))

    assert remembered is not None
    assert remembered.name == "Kedai Buku Maju Sdn Bhd"
    assert remembered.addresses == {}


def test_a_vendor_never_confirmed_is_not_known(found: frozenset[str]) -> None:
    assert Memory().lookup(found) is None


def test_a_number_that_two_names_share_tells_neither() -> None:
    memory = Memory()
    memory.add(frozenset({"phone 1"}), {"seller.name": "Alpha"})
    memory.add(frozenset({"phone 1"}), {"seller.name": "Beta"})

    assert memory.lookup(frozenset({"phone 1"})) is None


def test_a_numbers_address_is_kept_though_names_differ() -> None:
    memory = Memory()
    for name in ("Alpha", "Beta"):
        memory.add(frozenset({"phone 1"}), {"seller.name": name, "seller.address": "1 High Street"})

    remembered = memory.lookup(frozenset({"phone 1"}))

    assert remembered is not None
    assert remembered.name is None
    assert remembered.address(None) == "1 High Street"


class TestRemembered:
    @pytest.fixture
    def memory(self) -> Memory:
        memory = Memory()
        memory.add(frozenset({"tax 1"}), {**NAME, "seller.address": "12 Jalan Mawar 3, 81100 Johor Bahru"})
        memory.add(frozenset({"tax 1"}), {**NAME, "seller.address": "77 Jalan Besar, 47500 Subang Jaya"})
        return memory

    @pytest.mark.parametrize(
        ("read", "address"),
        [
            ("12 JALAN MAWAR 3 81100 J0HOR BAHRU", "12 Jalan Mawar 3, 81100 Johor Bahru"),
            ("99 Jalan Lain, 50000 Kuala Lumpur", None),
            (None, None),
        ],
    )
    def test_of_several_addresses_only_one_nearly_as_read_is_taken(
        self, memory: Memory, read: str | None, address: str | None
    ) -> None:
        remembered = memory.lookup(frozenset({"tax 1"}))

        assert remembered is not None
        assert remembered.address(read) == address
