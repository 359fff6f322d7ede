from tests.matching.records import (
    ACCOUNT,
    LINES,
    OTHER_ACCOUNT,
    delivery,
    invoice,
    line,
    order,
    paid,
    payments,
)

from docmill.matching import match
from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Discrepancy, Link


def found(*records: MatchRecord) -> list[tuple[str, str, int | None, str]]:
    return [(each.code, each.record_id, each.line, each.difference) for each in match(records).discrepancies]


def test_a_higher_price_is_named_with_its_difference() -> None:
    dearer = [LINES[0], line("Mutter M4 Edelstahl", "50", "10.20")]

    assert found(order(), invoice(lines=dearer, net_total="1010.00", gross_total="1201.90")) == [
        ("price", "invoice", 1, "0.20")
    ]


def test_what_was_billed_and_not_delivered_is_named() -> None:
    less = [line("Schraube M4 verzinkt", "100"), line("Mutter M4 Edelstahl", "40")]

    assert found(order(), delivery(lines=less), invoice()) == [("quantity", "invoice", 1, "10")]


def test_another_tax_rate_is_named() -> None:
    ordered = [{**LINES[0], "tax_rate": "7"}, {**LINES[1], "tax_rate": "19"}]
    billed = [{**each, "tax_rate": "19"} for each in LINES]

    assert found(order(lines=ordered), invoice(lines=billed)) == [("tax", "invoice", 0, "12")]


def test_a_line_that_was_not_billed_is_named_with_its_place_in_the_order() -> None:
    (missing,) = match(
        [order(), invoice(lines=LINES[:1], net_total="500.00", gross_total="595.00")]
    ).discrepancies

    assert missing == Discrepancy("missing_line", "invoice", ("order",), 1, "50 Mutter M4 Edelstahl")


def test_totals_are_compared_where_there_are_no_lines() -> None:
    assert found(order(lines=[]), invoice(lines=[], net_total="1050.00", gross_total="1249.50")) == [
        ("over_billed", "invoice", None, "50.00")
    ]
    assert found(order(lines=[]), invoice(lines=[], net_total="950.00", gross_total="1130.50")) == [
        ("under_billed", "invoice", None, "-50.00")
    ]


def test_an_order_with_one_total_may_show_it_without_tax() -> None:
    assert found(order(lines=[], net_total=None, gross_total="1000.00"), invoice(lines=[])) == []


def test_the_second_payment_of_the_whole_is_paid_twice() -> None:
    assert found(invoice(), *payments(paid(), paid(date="2026-02-03"))) == [
        ("paid_twice", "statement#2", None, "1190.00")
    ]


def test_what_was_paid_short_and_too_much_is_named() -> None:
    confirmed = Link("invoice", "statement#1", "invoice_to_payment", 1.0, "automatic")

    for amount, code, difference in (("1090.00", "underpaid", "-100.00"), ("1200.00", "overpaid", "10.00")):
        records = {each.id: each for each in (invoice(), *payments(paid(amount)))}
        (named,) = find_discrepancies(records, [confirmed])
        assert (named.code, named.record_id, named.difference) == (code, "statement#1", difference)


def test_an_account_that_is_not_the_sellers_is_named() -> None:
    records = [invoice(payment={"iban": ACCOUNT}), *payments(paid(iban=OTHER_ACCOUNT))]

    assert ("iban_changed", "statement#1", None, "") in found(*records)


def test_a_new_account_on_a_later_invoice_is_named() -> None:
    earlier = invoice("a", payment={"iban": ACCOUNT})
    later = invoice(
        "b",
        number="RE-2026-0999",
        issue_date="2026-02-15",
        order_number=None,
        payment={"iban": OTHER_ACCOUNT},
    )

    assert found(earlier, later) == [("iban_changed", "b", None, "")]
