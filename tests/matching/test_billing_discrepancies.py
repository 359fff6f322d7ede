from typing import Any

from tests.matching.records import LINES, Ends, delivery, discrepancies, invoice, line, order, record

ORDERED: Ends = ("order", "invoice", "order_to_invoice")
DELIVERED: Ends = ("delivery", "invoice", "delivery_to_invoice")
SENT: Ends = ("order", "delivery", "order_to_delivery")
SCREWS, NUTS = LINES
MORE_NUTS = line("Mutter M4 Edelstahl", "51", "10.00")


def test_deliveries_of_another_order_do_not_keep_quantities_from_being_compared_with_the_order() -> None:
    others = [delivery("other delivery"), invoice("other invoice")]

    assert discrepancies(
        [order(), invoice(lines=[SCREWS, MORE_NUTS]), *others],
        [ORDERED, ("other delivery", "other invoice", "delivery_to_invoice")],
    ) == [("quantity", "invoice", 1, "1")]


def test_a_line_that_was_delivered_and_not_billed_is_missing_and_one_that_was_not_delivered_is_not() -> None:
    links = [ORDERED, DELIVERED, SENT]

    billed = invoice(lines=[SCREWS], net_total="500.00", gross_total="595.00")
    assert discrepancies([order(), delivery(), billed], links) == [("missing_line", "invoice", 1, "")]
    assert (
        discrepancies([order(), delivery(lines=[line("Schraube M4 verzinkt", "100")]), billed], links) == []
    )


def test_an_order_is_compared_with_an_invoice_that_a_delivery_note_alone_connects_with_it() -> None:
    dearer = [SCREWS, line("Mutter M4 Edelstahl", "50", "10.20")]

    assert discrepancies([order(), delivery(), invoice(lines=dearer)], [DELIVERED, SENT]) == [
        ("price", "invoice", 1, "0.20")
    ]


def test_what_several_notes_delivered_is_added_up() -> None:
    records = [
        order(),
        delivery("delivery", lines=[line("Schraube M4 verzinkt", "60"), line("Mutter M4 Edelstahl", "50")]),
        delivery("rest", lines=[line("Schraube M4 verzinkt", "40")]),
        invoice(),
    ]
    links: list[Ends] = [
        ORDERED,
        DELIVERED,
        SENT,
        ("order", "rest", "order_to_delivery"),
        ("rest", "invoice", "delivery_to_invoice"),
    ]

    assert discrepancies(records, links) == []
    assert discrepancies([each for each in records if each.id != "order"], [DELIVERED, links[-1]]) == []
    assert discrepancies([each for each in records if each.id != "rest"], [ORDERED, DELIVERED, SENT]) == [
        ("quantity", "invoice", 0, "40")
    ]


def test_deliveries_prove_nothing_while_one_more_is_named_suggested_or_was_not_read() -> None:
    less = delivery(lines=[line("Schraube M4 verzinkt", "60"), line("Mutter M4 Edelstahl", "50")])
    links = [ORDERED, DELIVERED, SENT]

    names_two = invoice(delivery_note_number="LS-88123, LS-88124")
    assert discrepancies([order(), less, names_two], links) == []
    assert discrepancies([less, names_two], [DELIVERED]) == []
    assert (
        discrepancies(
            [order(), less, delivery("rest"), invoice()], links, [("rest", "invoice", "delivery_to_invoice")]
        )
        == []
    )
    assert (
        discrepancies(
            [order(), less, delivery("rest", lines=[]), invoice()],
            [*links, ("order", "rest", "order_to_delivery")],
        )
        == []
    )


def test_two_invoices_of_a_delivery_may_bill_a_part_each_and_no_more_than_all() -> None:
    first = invoice(lines=[line("Schraube M4 verzinkt", "60", "5.00")])
    second = invoice("rest", issue_date="2026-02-15", lines=[line("Schraube M4 verzinkt", "40", "5.00")])
    too_many = invoice("rest", issue_date="2026-02-15", lines=[line("Schraube M4 verzinkt", "50", "5.00")])
    links: list[Ends] = [DELIVERED, ("delivery", "rest", "delivery_to_invoice")]

    assert discrepancies([delivery(), first, second], links) == []
    assert discrepancies([delivery(), first, too_many], links) == [("quantity", "rest", 0, "10")]


def test_an_invoice_of_two_orders_is_compared_line_by_line_with_both_and_by_their_sum() -> None:
    cheaper = [line("Mutter M4 Edelstahl", "10", "9.00"), line("Fracht", "1", "10.00")]
    more = order("more", number="PO-4712", lines=cheaper, net_total="100.00", gross_total="119.00")
    both = invoice(lines=[*LINES, *cheaper], net_total="1100.00", gross_total="1309.00")
    links: list[Ends] = [ORDERED, ("more", "invoice", "order_to_invoice")]

    assert discrepancies([order(), more, both], links) == []
    without_freight = invoice(lines=[*LINES, cheaper[0]])
    assert discrepancies([order(), more, without_freight], links) == [("missing_line", "invoice", 1, "")]
    assert discrepancies([order(), more, invoice()], links) == [("under_billed", "invoice", None, "-100.00")]
    named = invoice(lines=[], net_total="1100.00", gross_total="1309.00", order_number="PO-4711, PO-4712")
    assert discrepancies([order(), named], [ORDERED]) == []


def test_instalments_are_compared_with_the_order_by_their_sum_whatever_was_delivered() -> None:
    half = line("50 % des Auftrags PO-4711", "1", "500.00")
    first = invoice(lines=[half], net_total="500.00", gross_total="595.00")
    second = invoice("last", issue_date="2026-02-15", lines=[half], net_total="560.00", gross_total="666.40")
    part = delivery(lines=[line("Schraube M4 verzinkt", "100")])
    links: list[Ends] = [ORDERED, ("order", "last", "order_to_invoice"), SENT, DELIVERED]

    assert discrepancies([order(), part, first, second], links) == [("over_billed", "last", None, "60.00")]


def test_an_invoice_that_was_cancelled_and_written_anew_does_not_count() -> None:
    credit = record("credit", "credit_note", number="GS-1")
    again = invoice("again", number="RE-2026-0816", issue_date="2026-01-20")
    links: list[Ends] = [ORDERED, ("order", "again", "order_to_invoice")]

    assert discrepancies([order(), invoice(), again], links) == [
        ("quantity", "again", 0, "100"),
        ("quantity", "again", 1, "50"),
    ]
    credited: Ends = ("invoice", "credit", "invoice_to_credit_note")
    assert discrepancies([order(), invoice(), again, credit], [*links, credited]) == []


def test_amounts_in_two_currencies_are_not_compared() -> None:
    dearer = [SCREWS, line("Mutter M4 Edelstahl", "50", "10.20")]

    assert discrepancies([order(), invoice(currency="USD", lines=dearer)], [ORDERED]) == []
    assert (
        discrepancies([order(lines=[]), invoice(currency="USD", lines=[], net_total="1200.00")], [ORDERED])
        == []
    )


def test_an_unknown_quantity_is_not_compared() -> None:
    unread = delivery(lines=[{"description": "Schraube M4 verzinkt"}, line("Mutter M4 Edelstahl", "50")])

    assert discrepancies([order(), unread, invoice()], [ORDERED, DELIVERED, SENT]) == []
    assert discrepancies([unread, invoice()], [DELIVERED]) == []
    blank = invoice(lines=[{"description": "Schraube M4 verzinkt"}, NUTS])
    assert discrepancies([order(), blank], [ORDERED]) == []


def test_several_deliveries_with_several_invoices_without_an_order_are_not_told_apart() -> None:
    records = [delivery(), delivery("rest", lines=[SCREWS]), invoice(), invoice("last", lines=[MORE_NUTS])]
    links: list[Ends] = [
        DELIVERED,
        ("rest", "invoice", "delivery_to_invoice"),
        ("rest", "last", "delivery_to_invoice"),
    ]

    assert discrepancies(records, links) == []


def test_a_price_of_a_hundred_is_compared_by_the_price_of_one() -> None:
    per_hundred = {**line("Schraube M4 verzinkt", "100", "500.00"), "net_amount": "500.00"}
    dearer = {**per_hundred, "net_amount": "510.00"}

    assert discrepancies([order(), invoice(lines=[per_hundred, NUTS])], [ORDERED]) == []
    assert discrepancies([order(), invoice(lines=[dearer, NUTS])], [ORDERED]) == [
        ("price", "invoice", 0, "0.10")
    ]


def test_totals_that_are_not_known_are_not_compared() -> None:
    bare: dict[str, Any] = {"lines": [], "net_total": None, "gross_total": None}

    assert discrepancies([order(**bare), invoice(lines=[])], [ORDERED]) == []
    assert discrepancies([order(lines=[]), invoice(**bare)], [ORDERED]) == []
    assert discrepancies([order(), delivery()], [SENT]) == []
    net = order(lines=[], net_total=None, gross_total="1250.00")
    assert discrepancies([net, invoice(lines=[])], [ORDERED]) == [("under_billed", "invoice", None, "-60.00")]


def test_a_delivery_note_that_may_be_a_copy_of_another_one_does_not_count() -> None:
    records = [order(), delivery(), delivery("copy", number="L5-88123"), invoice()]
    links: list[Ends] = [ORDERED, DELIVERED, SENT, ("order", "copy", "order_to_delivery")]

    assert discrepancies(records, links, [("delivery", "copy", "duplicate")]) == []
    assert discrepancies(records, links) == [
        ("quantity", "invoice", 0, "-100"),
        ("quantity", "invoice", 1, "-50"),
    ]


def test_lines_with_one_description_are_added_up_where_a_delivery_note_does_not_tell_them_apart() -> None:
    goods = [line("Ordner", "10", "2.38"), line("Ordner", "1", "0.97"), line("Ordner", "2", "2.58")]
    notes = [
        delivery(lines=[line("Ordner", "5"), line("Ordner", "1")]),
        delivery("rest", lines=[line("Ordner", "5"), line("Ordner", "1"), line("Ordner", "1")]),
    ]
    links: list[Ends] = [ORDERED, SENT, DELIVERED, ("order", "rest", "order_to_delivery")]

    assert discrepancies([order(lines=goods), *notes, invoice(lines=goods)], links) == []
