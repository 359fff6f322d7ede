"""Payments that the bank returned, and that are paid again."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from docmill.errors import ValidationError
from docmill.matching import match, records_of
from docmill.matching.outcome import Matching
from docmill.matching.wording import discrepancy_text, reason_text
from matching.records import ACCOUNT, OTHER_ACCOUNT, invoice, order, paid, payments, record

CUSTOMER_PAYS: dict[str, Any] = {"seller": {"name": "Wir GmbH"}, "buyer": {"name": "Kunde AG"}}


def returned(amount: str = "1190.00", **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """The booking by which the bank returns a payment to Sommer."""
    return {**paid(), "amount": amount, "description": "RE-2026-0815 Rücklastschrift AC04", **values}


FIRST = paid(date="2026-02-02")
RETURN = returned(date="2026-02-04")
SECOND = paid(date="2026-02-11")


def returns(matching: Matching, state: str = "automatic") -> set[tuple[str, str]]:
    """The ids of payments and their returns."""
    return {
        (link.first_id, link.second_id)
        for link in matching.links
        if link.relation == "payment_to_return" and link.state == state
    }


def paying(matching: Matching) -> set[str]:
    """The ids of the payments that are linked with the invoice."""
    return {
        link.second_id
        for link in matching.links
        if link.relation == "invoice_to_payment" and link.state == "automatic"
    }


def told(matching: Matching) -> list[tuple[str, str]]:
    return [(each.code, each.record_id) for each in matching.discrepancies]


def test_what_was_returned_and_is_paid_again_is_paid_once() -> None:
    matching = match([invoice(), *payments(FIRST, RETURN, SECOND)])

    assert returns(matching) == {("statement#1", "statement#2")}
    assert paying(matching) == {"statement#1", "statement#3"}
    assert told(matching) == []
    assert matching.clusters == (("invoice", "statement#1", "statement#2", "statement#3"),)


def test_what_was_returned_and_not_paid_again_is_not_paid() -> None:
    matching = match([invoice(), *payments(FIRST, RETURN)])

    (discrepancy,) = matching.discrepancies
    assert (discrepancy.code, discrepancy.record_id) == ("payment_returned", "statement#1")
    assert discrepancy.other_ids == ("invoice", "statement#2")
    assert discrepancy_text(discrepancy) == "Payment returned: 0 paid of 1190.00"


def test_the_reasons_of_a_return_are_told_in_words() -> None:
    numbered = {"reference": "E2E-20260202-7"}
    matching = match(payments(FIRST | numbered, RETURN | numbered))

    (link,) = matching.links
    assert {reason_text(reason) for reason in link.reasons} == {
        "It names the number E2E-20260202-7.",
        "Both name the same third number.",
        "The other party is the same: SOMMER GMBH.",
        "Both are bookings of the same account.",
        "The amounts are 1190.00 and 1190.00.",
        "The dates are as expected: 2026-02-02 and 2026-02-04.",
        "It gives a reason for which banks return payments: AC04.",
    }


@pytest.mark.parametrize("ordered", list(permutations(range(4))))
def test_the_order_of_records_makes_no_difference(ordered: Sequence[int]) -> None:
    one = [
        invoice(),
        *payments(FIRST, id_="january"),
        *payments(RETURN, id_="february"),
        *payments(SECOND, id_="march"),
    ]

    matching = match(one[index] for index in ordered)

    assert returns(matching) == {("january#1", "february#1")}
    assert told(matching) == []


@pytest.mark.parametrize("ordered", list(permutations(range(3))))
def test_the_order_of_bookings_in_a_statement_makes_no_difference(ordered: Sequence[int]) -> None:
    bookings = [FIRST, RETURN, SECOND]

    matching = match([invoice(), *payments(*(bookings[index] for index in ordered))])

    first, return_ = (f"statement#{ordered.index(index) + 1}" for index in (0, 1))
    assert returns(matching) == {(first, return_)}
    assert told(matching) == []


def test_a_return_after_the_second_payment_is_that_of_one_of_both() -> None:
    late = returned(date="2026-02-13")

    matching = match([invoice(), *payments(FIRST, SECOND, late)])

    assert returns(matching) == {("statement#2", "statement#3")}
    assert told(matching) == []


def test_a_return_by_its_reference_is_that_of_the_first_payment_also_after_the_second() -> None:
    first, late = FIRST | {"reference": "E2E-100-A"}, returned(date="2026-02-13", reference="E2E-100-A")
    second = SECOND | {"reference": "E2E-200-B"}

    matching = match([invoice(), *payments(first, second, late)])

    assert returns(matching) == {("statement#1", "statement#3")}
    assert told(matching) == []


def test_twice_returned_and_three_times_paid_is_paid_once() -> None:
    again = returned(date="2026-02-13", description="RE-2026-0815 Rücklastschrift MS03")
    third = paid(date="2026-02-23")

    matching = match([invoice(), *payments(FIRST, RETURN, SECOND, again, third)])

    assert returns(matching) == {("statement#1", "statement#2"), ("statement#3", "statement#4")}
    assert paying(matching) == {"statement#1", "statement#3", "statement#5"}
    assert told(matching) == []
    assert told(match([invoice(), *payments(FIRST, RETURN, SECOND, again)])) == [
        ("payment_returned", "statement#3")
    ]


def test_both_returns_on_one_day_are_those_of_both_payments() -> None:
    both = [returned(date="2026-02-12"), returned(date="2026-02-12")]

    matching = match([invoice(), *payments(FIRST, SECOND, *both)])

    assert {first for first, _ in returns(matching)} == {"statement#1", "statement#2"}
    assert told(matching) == [("payment_returned", "statement#2")]


def test_three_payments_of_which_one_was_returned_are_paid_twice() -> None:
    matching = match([invoice(), *payments(FIRST, RETURN, SECOND, paid(date="2026-02-20"))])

    assert told(matching) == [("paid_twice", "statement#4")]


def test_what_is_paid_again_in_the_words_of_a_return_is_none() -> None:
    again = SECOND | {"description": "RE-2026-0815 Einzug nach Rücklastschrift"}
    once_more = returned(date="2026-02-13", reference="E2E-200-B")

    assert returns(match([invoice(), *payments(FIRST, RETURN, again)])) == {("statement#1", "statement#2")}
    found = match([invoice(), *payments(FIRST, RETURN, again | {"reference": "E2E-200-B"}, once_more)])
    assert returns(found) == {("statement#1", "statement#2"), ("statement#3", "statement#4")}
    assert told(found) == [("payment_returned", "statement#3")]


def test_the_fee_of_a_return_stays_out_of_what_is_paid() -> None:
    with_fee = returned("1195.50", date="2026-02-04")
    fee = paid("5.50", date="2026-02-04", counterparty="Bank", description="Entgelt Rücklastschrift")

    matching = match([invoice(), *payments(FIRST, with_fee, SECOND, fee)])

    assert returns(matching) == {("statement#1", "statement#2")}
    assert told(matching) == []
    assert returns(match([invoice(), *payments(FIRST, returned("1250.00", date="2026-02-04"))])) == set()


def test_a_direct_debit_that_a_customer_does_not_pay_comes_back() -> None:
    bill = invoice(**CUSTOMER_PAYS)
    debit = {**paid(counterparty="KUNDE AG", date="2026-02-02"), "amount": "1190.00"}
    back = {**debit, "date": "2026-02-05", "amount": "-1193.00", "description": "RE-2026-0815 RETURN/MS03"}
    again = {**debit, "date": "2026-02-12"}

    assert told(match([bill, *payments(debit, back)])) == [("payment_returned", "statement#1")]
    assert told(match([bill, *payments(debit, back, again)])) == []


def test_two_vendors_with_one_amount_on_one_day_are_told_apart() -> None:
    other = paid(date="2026-02-02", counterparty="Winter KG", description="W-77-2026")
    other_bill = invoice("other", number="W-77-2026", seller={"name": "Winter KG"}, order_number=None)
    bills = [invoice(), other_bill]

    named = match([*bills, *payments(FIRST, other, RETURN)])
    assert returns(named) == {("statement#1", "statement#3")}
    assert told(named) == [("payment_returned", "statement#1")]

    bare = match([*bills, *payments(FIRST, other, RETURN | {"counterparty": "", "description": "Retoure"})])
    assert returns(bare) == set()
    assert told(bare) == []


def test_a_return_that_fits_two_payments_of_one_vendor_is_only_suggested() -> None:
    payed = payments(FIRST, paid(date="2026-02-02", description="RE-2026-0999"))
    bare = payments(returned(date="2026-02-04", description="Rücklastschrift"), id_="later")

    matching = match([*payed, *bare])

    assert returns(matching) == set()
    likely = returns(matching, "suggested") | returns(matching, "outranked")
    assert likely == {("statement#1", "later#1"), ("statement#2", "later#1")}


def test_a_vendors_refund_is_no_return() -> None:
    credit = record("credit", "credit_note", number="GS-2026-1", issue_date="2026-02-04")
    refund = returned(date="2026-02-10", description="Gutschrift GS-2026-1")

    matching = match([invoice(), credit, *payments(FIRST, refund)])

    assert {link.relation for link in matching.links if link.second_id == "statement#2"} == {
        "credit_note_to_payment"
    }
    assert told(matching) == []
    named = returned(date="2026-02-10", description="Erstattung zu RE-2026-0815, Ware zurück")
    assert returns(match([invoice(), *payments(FIRST, named)])) == set()
    goods = returned(date="2026-02-10", description="Retoure RE-2026-0815")
    unclear = match([invoice(), *payments(FIRST, goods)])
    assert (returns(unclear), returns(unclear, "suggested")) == (set(), {("statement#1", "statement#2")})
    assert told(unclear) == []


def test_a_suggested_return_keeps_a_second_payment_from_being_told() -> None:
    goods = returned(date="2026-02-04", description="Retoure RE-2026-0815")
    bookings = payments(FIRST, goods, SECOND)

    assert told(match([invoice(), *bookings])) == []
    once = match([invoice(), *bookings], declined=[("statement#1", "statement#2")])
    assert told(once) == [("paid_twice", "statement#3")]
    confirmed = match([invoice(), *bookings], confirmed=[("statement#1", "statement#2")])
    assert returns(confirmed) == {("statement#1", "statement#2")}
    assert told(confirmed) == []


def test_what_a_person_parts_is_no_return() -> None:
    parted = [("statement#2", "statement#1")]

    matching = match([invoice(), *payments(FIRST, RETURN, SECOND)], declined=parted)

    assert returns(matching) == set()
    assert told(matching) == [("paid_twice", "statement#3")]


def test_a_salary_of_the_same_amount_is_no_return() -> None:
    salary = returned(date="2026-02-04", counterparty="Arbeit SE", description="Gehalt Februar 2026")

    assert returns(match([invoice(), *payments(FIRST, salary)])) == set()
    assert not [
        link for link in match([*payments(FIRST, salary)]).links if link.relation == "payment_to_return"
    ]


def test_a_transfer_between_two_own_accounts_is_no_return() -> None:
    out = paid(date="2026-02-02", counterparty="Kunde AG", reference="E2E-100-A", iban=ACCOUNT)
    into = {**out, "amount": "1190.00", "iban": OTHER_ACCOUNT}
    (arrived,) = records_of(
        "other", "bank_statement", {"iban": ACCOUNT, "currency": "EUR", "transactions": [into]}
    )

    assert match([*payments(out), arrived]).links == ()


def test_a_booking_before_a_payment_is_not_its_return() -> None:
    matching = match([invoice(), *payments(returned(date="2026-01-30"), FIRST)])

    assert returns(matching) == set()
    assert told(matching) == []


def test_a_return_months_later_takes_the_reference_of_its_payment() -> None:
    late = {"date": "2026-06-02"}
    numbered = {"reference": "E2E-100-A"}

    assert returns(match([*payments(FIRST, RETURN | late)])) == set()
    assert returns(match([*payments(FIRST | numbered, RETURN | late | numbered)])) == {
        ("statement#1", "statement#2")
    }


def test_of_monthly_payments_the_latest_before_it_is_returned() -> None:
    monthly = [
        paid("49.90", date=f"2026-0{month}-01", description="Kundennummer 778812 Mandat M-42-2026")
        for month in (1, 2, 3)
    ]
    back = returned("49.90", date="2026-02-04", description="Rücklastschrift Kundennummer 778812")

    assert returns(match(payments(*monthly, back))) == {("statement#2", "statement#4")}


def test_another_payment_with_the_same_customer_number_is_not_returned() -> None:
    cited = "Kundennummer 778812 RE-2026-0999"
    back = returned(date="2026-02-04", description=f"Rücklastschrift {cited}")
    out = paid(date="2026-02-02", description="Kundennummer 778812 RE-2026-0815")

    assert returns(match(payments(out, back))) == set()


def test_a_collective_payment_that_is_returned_pays_none_of_its_invoices() -> None:
    other = invoice("other", number="RE-2026-0816", net_total="100.00", gross_total="119.00")
    texts = "RE-2026-0815 RE-2026-0816"
    out = paid("1309.00", date="2026-02-02", description=texts)
    back = returned("1309.00", date="2026-02-04", description=f"{texts} Rücküberweisung AC01")
    again = out | {"date": "2026-02-11"}

    assert told(match([invoice(), other, *payments(out, back)])) == [
        ("payment_returned", "statement#1"),
        ("payment_returned", "statement#1"),
    ]
    assert told(match([invoice(), other, *payments(out, back, again)])) == []


def test_one_return_that_two_files_of_the_bank_tell_is_one() -> None:
    files = [booking for id_ in ("daily", "monthly") for booking in payments(FIRST, RETURN, SECOND, id_=id_)]

    matching = match([invoice(), *files])

    assert returns(matching) == {("daily#1", "daily#2")}
    assert told(matching) == []


def test_an_order_that_a_return_names_stays_without_a_payment() -> None:
    back = RETURN | {"description": "PO-4711 RE-2026-0815 Rücklastschrift"}

    matching = match([order(), invoice(), *payments(FIRST, back, SECOND)])

    assert told(matching) == []


def test_what_was_returned_leaves_its_invoice_to_a_second_payment_without_a_number() -> None:
    bill = invoice(order_number=None, payment={"iban": ACCOUNT})
    bare = {"iban": ACCOUNT, "description": "Rechnung"}
    back = returned(
        date="2026-02-04", description="Rücküberweisung AC04", reference="E2E-100-A", iban=ACCOUNT
    )
    first = paid(date="2026-01-30", reference="E2E-100-A", **bare)
    second = paid(date="2026-02-08", **bare)

    matching = match([bill, *payments(first, back, second)])

    assert returns(matching) == {("statement#1", "statement#2")}
    assert "statement#3" in paying(matching)
    assert told(matching) == []


def test_a_confirmed_payment_by_a_return_stays() -> None:
    bill = invoice(order_number=None)
    confirmed = [("invoice", "statement#2")]

    matching = match([bill, *payments(FIRST, RETURN)], confirmed=confirmed)

    states = {(link.first_id, link.second_id): link.state for link in matching.links}
    assert states["invoice", "statement#2"] == "automatic"
    assert returns(matching) == set()


def test_a_confirmed_return_goes_before_a_likelier_one() -> None:
    bare = returned(date="2026-02-20", description="Danke")

    matching = match([invoice(), *payments(FIRST, RETURN, bare)], confirmed=[("statement#1", "statement#3")])

    assert returns(matching) == {("statement#1", "statement#3")}


def test_bookings_in_one_direction_are_no_payment_and_return() -> None:
    with pytest.raises(ValidationError, match="cannot be linked"):
        match(payments(FIRST, SECOND), confirmed=[("statement#1", "statement#2")])


def test_a_return_without_a_day_is_the_one_that_says_so() -> None:
    undated = {"date": None}

    matching = match(payments(RETURN | undated, FIRST), confirmed=[("statement#1", "statement#2")])

    assert returns(matching) == {("statement#2", "statement#1")}


def test_an_amount_or_currency_that_differs_is_no_return() -> None:
    for other in ({"currency": "USD"}, {"amount": "900.00"}):
        assert match(payments(FIRST, RETURN | other)).links == ()


def test_a_return_in_the_name_of_the_bank_names_the_payee_in_its_text() -> None:
    by_bank = RETURN | {"counterparty": "Musterbank AG"}
    naming = by_bank | {"description": "Sommer GmbH RE-2026-0815 Rücklastschrift AC04"}

    assert returns(match(payments(FIRST, naming))) == {("statement#1", "statement#2")}
    assert returns(match(payments(FIRST, by_bank))) == set()
    (link,) = match(payments(FIRST, by_bank)).links
    assert "The other parties differ: SOMMER GMBH and Musterbank AG." in map(reason_text, link.reasons)


def test_a_return_with_another_reference_of_the_series_is_that_of_another_payment() -> None:
    matching = match(payments(FIRST | {"reference": "E2E-100-A"}, RETURN | {"reference": "E2E-200-A"}))

    assert returns(matching) == set()
    reasons = [reason_text(reason) for link in matching.links for reason in link.reasons]
    assert "It names another number: E2E-200-A instead of E2E-100-A." in reasons


def test_a_return_that_a_later_one_contests_is_left_to_it() -> None:
    vague = returned(date="2026-02-03", description="Rückgabe", reference="")
    clear = returned(date="2026-02-05", reference="E2E-100-A")

    matching = match(payments(FIRST | {"reference": "E2E-100-A"}, vague, clear))

    assert returns(matching) == {("statement#1", "statement#3")}
