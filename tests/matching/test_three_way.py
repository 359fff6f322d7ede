from collections.abc import Sequence
from decimal import Decimal

from tests.matching.records import LINES, delivery, invoice, line, order, paid, payments, record

from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link
from docmill.matching.three_way import ThreeWayMatch, three_way_match


def summed(records: Sequence[MatchRecord], *links: Link) -> ThreeWayMatch:
    return three_way_match({record.id: record for record in records}, links)


def test_each_stage_is_summed_and_compared_with_the_one_before() -> None:
    (payment,) = payments(paid("1000.00"))

    found = summed([order(), invoice(net_total="1100.00", gross_total="1309.00"), payment])

    assert [(each.stage, each.records, each.net, each.gross) for each in found.totals] == [
        ("ordered", 1, Decimal("1000.00"), Decimal("1190.00")),
        ("billed", 1, Decimal("1100.00"), Decimal("1309.00")),
        ("paid", 1, None, Decimal("1000.00")),
    ]
    assert [(each.stage, each.of, each.basis, each.amount) for each in found.differences] == [
        ("billed", "ordered", "gross", Decimal("119.00")),
        ("paid", "billed", "gross", Decimal("-309.00")),
    ]


def test_net_amounts_are_compared_where_an_order_has_no_others() -> None:
    found = summed([order(gross_total=None), invoice()])

    assert [(each.basis, each.amount) for each in found.differences] == [("net", Decimal(0))]


def test_a_credit_note_and_its_payment_count_against_the_sums() -> None:
    credit = record("credit", "credit_note", number="GS-1", gross_total="190.00", net_total="159.66")
    bought, back = payments(paid("1190.00"), paid("190.00"))
    refund = Link("credit", back.id, "credit_note_to_payment", 1.0, "automatic")

    found = summed([invoice(), credit, bought, back], refund)

    assert [each.gross for each in found.totals] == [Decimal("1000.00"), Decimal("1000.00")]
    assert [each.amount for each in found.differences] == [Decimal(0)]


def test_a_copy_counts_once() -> None:
    copy = Link("invoice", "invoice 2", "duplicate", 1.0, "automatic")

    found = summed([invoice(), invoice("invoice 2")], copy)

    assert [(each.records, each.gross) for each in found.totals] == [(1, Decimal("1190.00"))]
    assert [item.quantities for item in found.items] == [{"billed": Decimal(100)}, {"billed": Decimal(50)}]


def test_currencies_are_not_added_up() -> None:
    found = summed([order(), invoice(), invoice("invoice 2", currency="USD")])

    assert [(each.stage, each.currency) for each in found.totals] == [
        ("ordered", "EUR"),
        ("billed", "EUR"),
        ("billed", "USD"),
    ]
    assert [(each.currency, each.amount) for each in found.differences] == [("EUR", Decimal(0))]


def test_quantities_of_split_deliveries_are_added_up_by_item() -> None:
    first = delivery("delivery 1", lines=[line("Schraube M4 verzinkt", "60")])
    second = delivery(
        "delivery 2", lines=[line("Schraube M4 verzinkt", "30"), line("Mutter M4 Edelstahl", "50")]
    )

    found = summed([order(), first, second, invoice(lines=LINES)])

    screws, nuts = found.items
    assert screws.quantities == {"ordered": Decimal(100), "delivered": Decimal(90), "billed": Decimal(100)}
    assert screws.differs
    assert not nuts.differs


def test_a_line_without_a_quantity_leaves_the_sum_open() -> None:
    found = summed([order(), delivery(lines=[{"description": "Schraube M4 verzinkt"}])])

    assert found.items[0].quantities == {"ordered": Decimal(100), "delivered": None}


def test_nothing_linked_gives_an_empty_summary() -> None:
    assert summed([]) == ThreeWayMatch((), (), ())


def test_goods_that_a_credit_note_takes_back_count_against_what_was_billed() -> None:
    returned = record(
        "credit",
        "credit_note",
        number="GS-1",
        gross_total="119.00",
        lines=[line(LINES[0]["description"], "10", LINES[0]["unit_price"])],
    )
    lower_price = record(
        "discount",
        "credit_note",
        number="GS-2",
        gross_total="59.50",
        lines=[line(LINES[0]["description"], LINES[0]["quantity"], "1.00")],
    )

    found = summed([invoice(), returned, lower_price])

    billed = Decimal(LINES[0]["quantity"])
    assert found.items[0].quantities == {"billed": billed - 10}
    assert len(found.items) == len(LINES), "a line of a credit note is no item of its own"


def test_a_payment_that_was_returned_counts_for_nothing_in_what_was_paid() -> None:
    back = {**paid("1195.50", date="2026-02-02"), "amount": "1195.50"}
    bookings = payments(paid(), back, paid(date="2026-02-10"))
    links = [
        Link("invoice", "statement#1", "invoice_to_payment", 1.0, "automatic"),
        Link("statement#1", "statement#2", "payment_to_return", 1.0, "automatic"),
        Link("invoice", "statement#3", "invoice_to_payment", 1.0, "automatic"),
    ]

    for members, paid_amount in ((bookings, "1190.00"), (bookings[:2], "0.00")):
        records = {each.id: each for each in [invoice(), *members]}
        totals = three_way_match(records, links[: len(members)]).totals
        assert {each.stage: str(each.gross) for each in totals} == {"billed": "1190.00", "paid": paid_amount}
