from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matching.records import ACCOUNT, delivery, invoice, line, order, paid, payments, record

from docmill.matching import match, records_of
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Matching, Reason
from docmill.matching.wording import reason_text


def automatic(matching: Matching) -> set[tuple[str, str]]:
    return {(link.first_id, link.second_id) for link in matching.links if link.state == "automatic"}


def states(matching: Matching) -> dict[tuple[str, str], str]:
    return {(link.first_id, link.second_id): link.state for link in matching.links}


def test_a_ticket_is_matched_as_a_receipt_and_the_slip_of_a_card_is_not() -> None:
    ticket = record("ticket", "ticket", issue_date="2026-04-03")

    assert ticket.kind == "receipt"
    assert records_of("slip", "card_slip", {"gross_total": "10.00"}) == []


@pytest.mark.parametrize("amount", ["1e15", "-1e26", "1e999999", "1" * 60, "1e-999999"])
def test_a_number_too_long_for_an_amount_stops_no_other_record(amount: str) -> None:
    lines = [line("Schraube M4 verzinkt", amount, amount, net_amount=amount)]
    misread = [
        invoice("misread", gross_total=amount, net_total=amount, amount_due=amount, lines=lines),
        order("misread order", lines=lines),
        *payments(paid(amount), id_="misread statement"),
    ]

    found = match([*misread, invoice(number="RE-2026-0816"), *payments(paid(description="RE-2026-0816"))])

    assert misread[0].gross_total is None
    assert ("invoice", "statement#1") in automatic(found)


def test_a_quantity_close_to_nothing_makes_no_price_too_long_to_be_rounded() -> None:
    lines = [line("Schraube M4 verzinkt", "0.00000000000001", "5.00", net_amount="999999999999999")]

    found = match([order(lines=lines), invoice(lines=lines)])

    assert ("order", "invoice") in automatic(found)


def test_a_whole_business_becomes_one_cluster() -> None:
    records = [order(), delivery(), invoice(), *payments(paid())]

    found = match(records)

    assert automatic(found) == {
        ("order", "delivery"),
        ("order", "invoice"),
        ("delivery", "invoice"),
        ("invoice", "statement#1"),
    }
    assert found.clusters == (("delivery", "invoice", "order", "statement#1"),)
    assert found.discrepancies == ()


def test_the_order_of_records_makes_no_difference() -> None:
    records = [order(), invoice(), invoice("copy"), *payments(paid(), paid("595.00"))]

    results = [match(each) for each in permutations(records)]

    assert all(result == results[0] for result in results)


def test_other_payments_of_the_same_statement_stay_apart() -> None:
    records = [
        invoice(),
        *payments(paid(), paid("50.00", counterparty="Stadtwerke", description="Abschlag 2026")),
    ]

    assert automatic(match(records)) == {("invoice", "statement#1")}


def test_a_payment_of_the_same_figure_in_another_currency_is_not_linked_by_itself() -> None:
    records = [invoice(), *payments(paid(currency="SEK"))]

    assert automatic(match(records)) == set()


def test_a_converted_amount_is_linked_if_the_payment_cites_the_invoice() -> None:
    records = [
        invoice(order_number=None, text="Rechnung RE-2026-0815"),
        *payments(paid("13387.50", currency="SEK")),
    ]
    silent = [invoice(order_number=None), *payments(paid("13387.50", currency="SEK", description="Rechnung"))]

    assert automatic(match(records)) == {("invoice", "statement#1")}
    assert automatic(match(silent)) == set()


@pytest.mark.parametrize(("amount", "currency"), [("3000.00", "SEK"), ("1190.00", "XAU")])
def test_an_amount_that_no_rate_explains_is_not_taken_for_a_converted_one(amount: str, currency: str) -> None:
    bill = invoice(order_number=None, text="Rechnung RE-2026-0815")

    assert automatic(match([bill, *payments(paid(amount, currency=currency))])) == set()


def test_of_two_invoices_that_a_payment_may_pay_none_is_taken() -> None:
    records = [
        invoice("one", number="A-1001", order_number=None),
        invoice("two", number="A-1002", order_number=None, issue_date="2026-01-16"),
        *payments(paid(description="Rechnung")),
    ]

    assert automatic(match(records)) == set()


def test_the_number_in_the_payment_decides_between_equal_amounts() -> None:
    records = [
        invoice("one", number="RE-2026-0814", order_number=None),
        invoice("two", number="RE-2026-0815", order_number=None),
        *payments(paid()),
    ]

    assert ("two", "statement#1") in automatic(match(records))
    assert ("one", "statement#1") not in automatic(match(records))


def test_one_payment_pays_several_invoices() -> None:
    records = [
        invoice("one", number="RE-2026-0814", order_number=None),
        invoice("two", number="RE-2026-0815", order_number=None, net_total="500.00", gross_total="595.00"),
        *payments(paid("1785.00", description="RE-2026-0814 RE-2026-0815")),
    ]

    assert automatic(match(records)) == {("one", "statement#1"), ("two", "statement#1")}


def test_one_invoice_is_paid_in_instalments() -> None:
    records = [invoice(), *payments(paid("595.00"), paid("595.00", date="2026-02-28"))]

    found = match(records)

    assert automatic(found) == {("invoice", "statement#1"), ("invoice", "statement#2")}
    assert found.discrepancies == ()


def test_one_order_is_delivered_in_parts_and_billed_at_once() -> None:
    records = [
        order(),
        delivery("first", lines=[line("Schraube M4 verzinkt", "100")]),
        delivery(
            "second", number="LS-88199", lines=[line("Mutter M4 Edelstahl", "50")], issue_date="2026-01-14"
        ),
        invoice(),
    ]

    found = match(records)

    assert automatic(found) >= {
        ("order", "first"),
        ("order", "second"),
        ("order", "invoice"),
        ("first", "invoice"),
        ("second", "invoice"),
    }
    assert found.discrepancies == ()


def test_one_invoice_bills_two_orders() -> None:
    records = [
        order("one", number="PO-4711", net_total="400.00", gross_total="476.00", lines=[]),
        order("two", number="PO-4720", net_total="600.00", gross_total="714.00", lines=[]),
        invoice(order_number="PO-4711, PO-4720", lines=[]),
    ]

    assert automatic(match(records)) == {("one", "invoice"), ("two", "invoice")}


def test_an_invoice_that_came_twice_is_a_duplicate_and_not_billed_twice() -> None:
    records = [order(), invoice("a"), invoice("b"), *payments(paid())]

    found = match(records)

    assert {(link.first_id, link.second_id) for link in found.links if link.relation == "duplicate"} == {
        ("a", "b")
    }
    assert automatic(found) == {("a", "b"), ("order", "a"), ("a", "statement#1")}


def test_the_next_months_invoice_is_no_duplicate() -> None:
    records = [
        invoice("a", order_number=None),
        invoice("b", number="RE-2026-0901", order_number=None, issue_date="2026-02-15"),
    ]

    assert match(records).links == ()


def test_a_credit_note_is_linked_to_the_invoice_that_it_names() -> None:
    note = record(
        "note",
        "credit_note",
        number="GS-77123",
        issue_date="2026-02-01",
        preceding_invoice_number="RE-2026-0815",
    )

    assert automatic(match([invoice(), note])) == {("invoice", "note")}


def test_documents_of_one_kind_and_unrelated_ones_give_nothing() -> None:
    assert match([]) == Matching((), (), ())
    assert match([invoice()]).links == ()


@settings(max_examples=25, deadline=None)
@given(
    st.permutations([order(), delivery(), invoice(), invoice("copy"), *payments(paid(), paid("595.00"))]),
    st.integers(1, 6),
)
def test_links_go_between_given_records_and_clusters_have_what_they_connect(
    records: list[MatchRecord], size: int
) -> None:
    found = match(records[:size])

    ids = {each.id for each in records[:size]}
    assert {each for link in found.links for each in (link.first_id, link.second_id)} <= ids
    assert {each for cluster in found.clusters for each in cluster} == {
        each for pair in automatic(found) for each in pair
    }


@pytest.mark.parametrize("amount", ["1166.20", "1190.00"])
def test_a_discount_of_the_terms_is_no_short_payment(amount: str) -> None:
    records = [invoice(payment={"terms": "2 % Skonto innerhalb von 14 Tagen"}), *payments(paid(amount))]

    found = match(records)

    assert automatic(found) == {("invoice", "statement#1")}
    assert found.discrepancies == ()


def test_of_three_copies_the_first_one_is_the_original() -> None:
    records = [order(), invoice("a"), invoice("b"), invoice("c")]

    assert automatic(match(records)) == {("a", "b"), ("a", "c"), ("b", "c"), ("order", "a")}


def test_a_payment_without_a_reference_is_suggested_for_the_only_invoice_that_it_fits() -> None:
    records = [invoice(order_number=None), *payments(paid(description="Rechnung"))]

    (link,) = match(records).links

    assert link.state == "suggested"
    assert link.score > 0.5


def test_number_amount_and_day_are_enough_where_the_payment_has_no_name() -> None:
    bill = invoice(order_number=None, text="Rechnung RE-2026-0815")
    card = paid(counterparty=None, iban=None, description="Kartenzahlung RE-2026-0815")
    other = paid("590.00", counterparty=None, iban=None, description="Kartenzahlung RE-2026-0815")

    assert automatic(match([bill, *payments(card)])) == {("invoice", "statement#1")}
    assert automatic(match([bill, *payments(other)])) == set()


def test_a_long_number_of_the_same_series_is_another_one() -> None:
    records = [
        invoice(order_number=None, number="RG20260110327"),
        *payments(paid(description="Ihre Rechnung RG20260111762")),
    ]

    assert match(records).links == ()


def test_a_payment_that_cites_another_invoice_is_not_even_suggested() -> None:
    records = [invoice(order_number=None), *payments(paid(description="RE-2026-0977"))]

    assert match(records).links == ()


def test_the_seller_may_be_named_in_the_text_of_a_payment_alone() -> None:
    text = "Ihre Rechnung RE-2026-0815 Sommer GmbH"
    records = [invoice(order_number=None), *payments(paid(counterparty=None, description=text))]

    assert automatic(match(records)) == {("invoice", "statement#1")}


def test_an_invoice_is_paid_less_its_credit_note() -> None:
    note = record(
        "note",
        "credit_note",
        number="GS-77123",
        issue_date="2026-01-20",
        preceding_invoice_number="RE-2026-0815",
        net_total="100.00",
        gross_total="119.00",
    )
    records = [invoice(), note, *payments(paid("1071.00", description="RE-2026-0815 GS-77123"))]

    found = match(records)

    assert automatic(found) == {("invoice", "note"), ("invoice", "statement#1"), ("note", "statement#1")}
    assert found.discrepancies == ()


def test_an_invoice_that_names_the_delivery_alone_belongs_to_its_order() -> None:
    records = [order(), delivery(), invoice(order_number=None, delivery_note_number="LS-88123")]

    found = match(records)

    (link,) = (link for link in found.links if link.relation == "order_to_invoice")
    assert link.state == "automatic"
    assert "shared_linked" in {reason.code for reason in link.reasons}


def test_of_two_orders_with_the_same_number_none_gets_the_delivery() -> None:
    records = [order("one"), order("two", currency="USD"), delivery()]

    assert automatic(match(records)) == set()


def test_a_change_of_an_order_is_no_duplicate_of_it() -> None:
    records = [
        order(),
        order("change", number="PO-4711-C02"),
        order("answer", number="AB-99125", text="PO-4711"),
    ]

    found = match(records)

    assert {(link.first_id, link.second_id, link.relation) for link in found.links} == {
        ("order", "change", "order_to_response"),
        ("order", "answer", "order_to_response"),
    }


def test_another_amount_does_not_part_an_invoice_from_the_order_that_it_names() -> None:
    lines = [line("Schraube M4 verzinkt", "300", "5.00"), line("Mutter M4 Edelstahl", "50", "10.00")]
    records = [order(), invoice(lines=lines, net_total="2000.00", gross_total="2380.00")]

    found = match(records)

    assert automatic(found) == {("order", "invoice")}
    assert [each.code for each in found.discrepancies] == ["quantity"]


def test_a_booking_that_two_files_of_the_bank_tell_is_one() -> None:
    matching = match([invoice(), *payments(paid(), id_="daily"), *payments(paid(), id_="monthly")])

    assert states(matching)["daily#1", "monthly#1"] == "automatic"
    assert states(matching)["invoice", "daily#1"] == "automatic"
    assert ("invoice", "monthly#1") not in states(matching)
    assert matching.discrepancies == ()


def test_bookings_of_one_file_or_of_different_numbers_are_several() -> None:
    other = payments(paid(description="RE-2026-0999"), id_="monthly")

    matching = match([invoice(), *payments(paid(), paid(), id_="daily"), *other])

    assert "duplicate" not in {link.relation for link in matching.links}
    assert [each.code for each in matching.discrepancies] == ["paid_twice"]


def test_bookings_without_any_number_are_suggested_to_be_one() -> None:
    files = (payments(paid(description="Danke"), id_=name) for name in ("daily", "monthly"))

    matching = match([booking for each in files for booking in each])

    assert states(matching) == {("daily#1", "monthly#1"): "suggested"}


def test_bookings_of_two_accounts_are_several() -> None:
    (other,) = records_of(
        "other", "bank_statement", {"iban": ACCOUNT, "currency": "EUR", "transactions": [paid()]}
    )

    assert "duplicate" not in {link.relation for link in match([*payments(paid()), other]).links}


def test_a_payment_to_the_account_of_the_only_invoice_of_its_amount_is_linked_without_a_number() -> None:
    bill = invoice(order_number=None, payment={"iban": ACCOUNT})
    transfer = paid(iban=ACCOUNT, description="Rechnung")
    billed_before = invoice(
        "before", number="RE-2025-0700", issue_date="2025-12-16", order_number=None, payment={"iban": ACCOUNT}
    )
    of_other_amount = paid("1190.10", iban=ACCOUNT, description="Rechnung")
    too_late = paid(iban=ACCOUNT, description="Rechnung", date="2026-04-20")

    assert automatic(match([bill, *payments(transfer)])) == {("invoice", "statement#1")}
    assert automatic(match([bill, billed_before, *payments(transfer)])) == set()
    assert automatic(match([bill, *payments(of_other_amount)])) == set()
    assert automatic(match([bill, *payments(too_late)])) == set()


def test_an_amount_that_is_billed_again_and_again_needs_a_number_even_if_all_others_are_paid() -> None:
    before = invoice(
        "before", number="RE-2025-0700", issue_date="2025-12-16", order_number=None, payment={"iban": ACCOUNT}
    )
    bill = invoice(order_number=None, payment={"iban": ACCOUNT})
    records = [
        before,
        bill,
        *payments(paid(iban=ACCOUNT, description="RE-2025-0700", date="2025-12-30"), id_="december"),
        *payments(paid(iban=ACCOUNT, description="Rechnung")),
    ]

    assert automatic(match(records)) == {("before", "december#1")}


def test_a_number_that_the_bank_cut_off_is_enough_if_account_amount_and_day_are_right() -> None:
    bill = invoice(order_number=None, payment={"iban": ACCOUNT})
    cut_off = paid(iban=ACCOUNT, description="RE-2026-08")
    mistyped = paid(iban=ACCOUNT, description="RE-2026-0515")

    assert automatic(match([bill, *payments(cut_off)])) == {("invoice", "statement#1")}
    assert automatic(match([bill, *payments(mistyped)])) == set()


@pytest.mark.parametrize(
    ("amount", "state"),
    [
        ("595.00", "automatic"),
        ("357.00", "automatic"),
        ("417.83", "suggested"),
        ("59.50", "suggested"),
        ("1250.00", "suggested"),
    ],
)
def test_a_part_payment_is_linked_if_it_is_a_share_that_people_agree_on(amount: str, state: str) -> None:
    records = [invoice(order_number=None), *payments(paid(amount))]

    assert states(match(records)) == {("invoice", "statement#1"): state}


def test_invoices_that_a_payment_cites_are_added_up_however_old_they_are() -> None:
    months = [
        invoice(f"month {number}", number=f"RE-2026-08{number}1", issue_date=day, order_number=None)
        for number, day in enumerate(("2025-08-15", "2025-10-15", "2025-12-15"), 1)
    ]
    cited = " ".join(f"RE-2026-08{number}1" for number in (1, 2, 3))

    found = match([*months, *payments(paid("3570.00", description=cited))])

    assert set(states(found)) == {(f"month {number}", "statement#1") for number in (1, 2, 3)}
    assert automatic(found) == {("month 2", "statement#1"), ("month 3", "statement#1")}


@pytest.mark.parametrize("unknown", [("invoice",), ("credit",), ("invoice", "credit")])
def test_a_credit_note_that_names_its_invoice_is_suggested_where_a_seller_is_not_known(
    unknown: Sequence[str],
) -> None:
    no_seller: dict[str, Any] = {"seller": {"name": None}}
    billed = invoice(**(no_seller if "invoice" in unknown else {}))
    credit = record(
        "credit",
        "credit_note",
        number="GS-17",
        issue_date="2026-02-20",
        net_total="100.00",
        gross_total="119.00",
        preceding_invoice_number="RE-2026-0815",
        **(no_seller if "credit" in unknown else {}),
    )

    (link,) = match([billed, credit]).links

    assert (link.relation, link.state) == ("invoice_to_credit_note", "suggested")
    assert "party_unknown" in {reason.code for reason in link.reasons}


def test_a_number_names_nothing_for_sure_where_the_sellers_differ() -> None:
    credit = record(
        "credit",
        "credit_note",
        seller={"name": "Holzwerk Brandner KG"},
        number="GS-17",
        issue_date="2026-02-20",
        gross_total="119.00",
        preceding_invoice_number="RE-2026-0815",
    )

    assert match([invoice(), credit]).links == ()


def test_reasons_end_with_one_full_stop_and_name_the_days_that_are_known() -> None:
    assert reason_text(Reason("party_same_name", 1.0, {})) == "The seller is the same."
    assert reason_text(Reason("party_same_name", 1.0, {"second": "Copper Kettle Supply Co."})) == (
        "The seller is the same: Copper Kettle Supply Co."
    )
    delivered = delivery(issue_date=None, delivery_date="2026-01-12")

    (link,) = match([order(delivery_date="2026-01-12"), delivered]).links

    (reason,) = [reason for reason in link.reasons if reason.code.startswith("date_")]
    assert reason.values == {"first": "2026-01-05", "second": "2026-01-12"}
