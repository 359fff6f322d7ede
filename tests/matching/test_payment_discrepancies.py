from tests.matching.records import (
    ACCOUNT,
    OTHER_ACCOUNT,
    Ends,
    discrepancies,
    invoice,
    paid,
    payments,
    record,
)

FIRST: Ends = ("invoice", "statement#1", "invoice_to_payment")
SECOND: Ends = ("invoice", "statement#2", "invoice_to_payment")


def test_the_net_total_does_not_settle_an_invoice_with_tax() -> None:
    assert discrepancies([invoice(), *payments(paid("1000.00"))], [FIRST]) == [
        ("underpaid", "statement#1", None, "-190.00")
    ]
    without_gross = invoice(gross_total=None)
    assert discrepancies([without_gross, *payments(paid("1000.00"))], [FIRST]) == []


def test_a_second_payment_of_the_whole_is_paid_twice_though_the_first_was_too_much() -> None:
    both = payments(paid("1309.00"), paid("1190.00", date="2026-02-10"))

    assert discrepancies([invoice(), *both], [FIRST, SECOND]) == [
        ("overpaid", "statement#1", None, "119.00"),
        ("paid_twice", "statement#2", None, "1309.00"),
    ]


def test_what_comes_after_instalments_that_settle_is_too_much() -> None:
    parts = payments(paid("590.00"), paid("600.00", date="2026-02-10"), paid("100.00", date="2026-02-20"))
    third: Ends = ("invoice", "statement#3", "invoice_to_payment")

    assert discrepancies([invoice(), *parts[:2]], [FIRST, SECOND]) == []
    assert discrepancies([invoice(), *parts], [FIRST, SECOND, third]) == [
        ("overpaid", "statement#3", None, "100.00")
    ]


def test_a_credit_note_that_was_paid_out_is_not_set_off_as_well() -> None:
    credit = record("credit", "credit_note", number="GS-1", net_total="200.00", gross_total="238.00")
    less, back = payments(paid("952.00"), {**paid(), "amount": "238.00", "date": "2026-02-10"})
    credited: Ends = ("invoice", "credit", "invoice_to_credit_note")

    assert discrepancies([invoice(), credit, less], [FIRST, credited]) == []
    refunded: Ends = ("credit", "statement#2", "credit_note_to_payment")
    assert discrepancies([invoice(), credit, less, back], [FIRST, credited, refunded]) == [
        ("underpaid", "statement#1", None, "-238.00")
    ]


def test_what_a_suggested_link_would_explain_is_not_told_yet() -> None:
    parts = payments(paid("590.00"), paid("600.00", date="2026-02-10"))
    assert discrepancies([invoice(), *parts], [FIRST], [SECOND]) == []
    assert discrepancies([invoice(), *payments(paid("590.00"), paid("500.00"))], [FIRST], [SECOND]) == [
        ("underpaid", "statement#1", None, "-600.00")
    ]

    other = invoice("other", number="RE-2026-0816", net_total="100.00", gross_total="119.00")
    also: Ends = ("other", "statement#1", "invoice_to_payment")
    assert discrepancies([invoice(), other, *payments(paid("1309.00"))], [FIRST], [also]) == []
    assert discrepancies([invoice(), other, *payments(paid("1400.00"))], [FIRST], [also]) == [
        ("overpaid", "statement#1", None, "210.00")
    ]


def test_a_payment_of_two_invoices_goes_to_the_account_of_one_of_them() -> None:
    before = invoice("before", number="RE-2026-0001", payment={"iban": ACCOUNT})
    after = invoice(payment={"iban": OTHER_ACCOUNT})
    both = payments(paid("2380.00", iban=OTHER_ACCOUNT))
    links: list[Ends] = [FIRST, ("before", "statement#1", "invoice_to_payment")]

    assert discrepancies([before, *both], [links[1]]) == [
        ("iban_changed", "statement#1", None, ""),
        ("overpaid", "statement#1", None, "1190.00"),
    ]
    assert discrepancies([before, after, *both], links) == []


def test_an_invoice_without_an_amount_is_not_compared() -> None:
    bare = invoice(net_total=None, gross_total=None)

    assert discrepancies([bare, *payments(paid())], [FIRST]) == []


def test_a_payment_in_another_currency_settles_by_an_amount_that_is_not_compared() -> None:
    abroad = payments(paid("1320.00", currency="USD"), paid("1190.00", date="2026-02-10"))

    assert discrepancies([invoice(), abroad[0]], [FIRST]) == []
    assert discrepancies([invoice(), *abroad], [FIRST, SECOND]) == [
        ("paid_twice", "statement#2", None, "0.00")
    ]


def test_a_booking_that_may_be_a_copy_of_another_one_is_not_paid_twice() -> None:
    both = payments(paid(), paid())

    assert discrepancies([invoice(), *both], [FIRST, SECOND]) == [
        ("paid_twice", "statement#2", None, "1190.00")
    ]
    copy: Ends = ("statement#1", "statement#2", "duplicate")
    assert discrepancies([invoice(), *both], [FIRST, SECOND], [copy]) == []


def test_a_linked_payment_that_was_returned_is_not_paid() -> None:
    third: Ends = ("invoice", "statement#3", "invoice_to_payment")
    returned = {**paid(date="2026-02-02"), "amount": "1190.00"}
    bookings = payments(paid(date="2026-02-01"), returned, paid(date="2026-02-03"))

    assert discrepancies([invoice(), *bookings], [FIRST, SECOND, third]) == []
    assert discrepancies([invoice(), *bookings[:2]], [FIRST, SECOND]) == [
        ("underpaid", "statement#2", None, "-1190.00")
    ]


def test_a_payment_less_a_credit_note_is_not_too_little() -> None:
    note = record("note", "credit_note", number="GS-1", issue_date="2026-01-20", gross_total="190.00")
    less: Ends = ("note", "statement#1", "credit_note_to_payment")

    assert discrepancies([invoice(), note, *payments(paid("1000.00"))], [FIRST, less]) == []
    assert discrepancies([invoice(), note, *payments(paid("900.00"))], [FIRST, less]) == [
        ("underpaid", "statement#1", None, "-290.00")
    ]


def test_one_payment_of_several_invoices_is_compared_with_their_sum() -> None:
    other = invoice("invoice 2", number="R-2", gross_total="500.00", net_total="420.17")
    both: list[Ends] = [FIRST, ("invoice 2", "statement#1", "invoice_to_payment")]

    for amount, expected in (
        ("1690.00", []),
        ("1500.00", [("underpaid", "statement#1", None, "-190.00")]),
        ("1800.00", [("overpaid", "statement#1", None, "110.00")]),
    ):
        assert discrepancies([invoice(), other, *payments(paid(amount))], both) == expected


def test_a_credit_note_that_one_payment_sets_off_is_no_shortfall() -> None:
    other = invoice("invoice 2", number="R-2", gross_total="500.00", net_total="420.17")
    credit = record("credit", "credit_note", number="GS-1", gross_total="190.00", net_total="159.66")
    links: list[Ends] = [
        FIRST,
        ("invoice 2", "statement#1", "invoice_to_payment"),
        ("credit", "statement#1", "credit_note_to_payment"),
    ]

    assert discrepancies([invoice(), other, credit, *payments(paid("1500.00"))], links) == []


def test_a_returned_payment_less_a_credit_note_sets_nothing_off() -> None:
    note = record("note", "credit_note", number="GS-1", issue_date="2026-01-20", gross_total="190.00")
    back = {**paid(date="2026-02-04"), "amount": "1000.00"}
    bookings = payments(paid("1000.00"), back)
    links: list[Ends] = [
        FIRST,
        ("note", "statement#1", "credit_note_to_payment"),
        ("statement#1", "statement#2", "payment_to_return"),
    ]

    assert discrepancies([invoice(), note, *bookings], links) == [
        ("payment_returned", "statement#1", None, "-1190.00")
    ]


def test_an_instalment_that_was_returned_is_missing() -> None:
    back = {**paid(date="2026-02-12"), "amount": "600.00"}
    bookings = payments(paid("590.00"), paid("600.00", date="2026-02-10"), back)
    links: list[Ends] = [FIRST, SECOND, ("statement#2", "statement#3", "payment_to_return")]

    assert discrepancies([invoice(), *bookings], links) == [
        ("payment_returned", "statement#2", None, "-600.00")
    ]
    third = payments(paid("600.00", date="2026-02-20"), id_="later")
    again: Ends = ("invoice", "later#1", "invoice_to_payment")
    assert discrepancies([invoice(), *bookings, *third], [*links, again]) == []
    assert discrepancies([invoice(), *bookings, *third], links, [again]) == []
