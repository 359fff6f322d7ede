from tests.matching.records import ACCOUNT, OTHER_ACCOUNT, SELLER, discrepancies, invoice

from docmill.matching.match_record import MatchRecord

THIRD_ACCOUNT = "NL91ABNA0417164300"


def billed(id_: str, day: str, account: str, **seller: str | None) -> MatchRecord:
    return invoice(id_, issue_date=day, payment={"iban": account}, seller={**SELLER, **seller})


def test_a_seller_is_known_by_name_where_one_invoice_has_no_vat_number() -> None:
    first = billed("first", "2026-01-15", ACCOUNT, name="Müller & Söhne GmbH")
    later = billed("later", "2026-02-15", OTHER_ACCOUNT, name="MUELLER UND SOEHNE", vat_id=None)

    assert discrepancies([first, later], []) == [("iban_changed", "later", None, "")]


def test_sellers_of_one_name_with_two_vat_numbers_are_two() -> None:
    one = billed("one", "2026-01-15", ACCOUNT)
    other = billed("other", "2026-02-15", OTHER_ACCOUNT, vat_id="DE811569869")

    assert discrepancies([one, other], []) == []
    unclear = billed("unclear", "2026-03-15", THIRD_ACCOUNT, vat_id=None)
    assert discrepancies([one, other, unclear], []) == []


def test_all_invoices_of_the_day_with_a_new_account_are_named_and_later_ones_are_not() -> None:
    invoices = [
        billed("first", "2026-01-15", ACCOUNT),
        billed("one", "2026-02-15", OTHER_ACCOUNT),
        billed("two", "2026-02-15", OTHER_ACCOUNT),
        billed("later", "2026-03-15", OTHER_ACCOUNT),
        billed("old account", "2026-03-16", ACCOUNT),
    ]

    assert discrepancies(invoices, []) == [
        ("iban_changed", "one", None, ""),
        ("iban_changed", "two", None, ""),
    ]


def test_an_invoice_without_a_known_seller_is_compared_with_none() -> None:
    nobody = [
        billed(id_, day, account, name=None, vat_id=None)
        for id_, day, account in (("a", "2026-01-15", ACCOUNT), ("b", "2026-02-15", OTHER_ACCOUNT))
    ]

    assert discrepancies(nobody, []) == []
