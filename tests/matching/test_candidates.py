"""Records find those that may belong to them, also among many of the same business partner."""

import datetime as dt

from docmill.matching.candidates import MOST_OF_KIND, CandidateIndex, expected_day
from matching.records import invoice, order, paid, payments, record

DUE = dt.date(2026, 3, 16)
INVOICE = invoice(due_date=DUE.isoformat())


def days_from_due(days: int) -> str:
    return (DUE + dt.timedelta(days=days)).isoformat()


def test_payments_are_looked_for_around_the_day_on_which_they_are_due() -> None:
    others = [paid("5.00", date=days_from_due(days - 70), description="") for days in range(60)]
    wanted = paid("1150.00", date=days_from_due(1), description="")

    found = CandidateIndex(payments(*others, wanted)).find(INVOICE)

    assert expected_day(INVOICE, "payment") == DUE
    assert str(found[0].gross_total) == "1150.00"


def test_many_records_of_one_kind_leave_room_for_those_of_others() -> None:
    paying = payments(*(paid(date=days_from_due(number % 5)) for number in range(90)))
    ordered = order(number="PO-1", lines=[], net_total=None, gross_total=None)

    found = CandidateIndex([*paying, ordered]).find(INVOICE)

    assert [record.id for record in found if record.kind == "purchase_order"] == ["order"]
    assert len(found) == MOST_OF_KIND + 1


def test_what_an_order_leads_to_comes_after_it_and_what_an_invoice_has_before_it_came_earlier() -> None:
    ordered = expected_day(order(), "invoice")
    billed = expected_day(invoice(), "purchase_order")

    assert ordered is not None
    assert billed is not None
    assert ordered > dt.date(2026, 1, 5)
    assert billed < dt.date(2026, 1, 15)


def test_a_record_without_a_day_is_expected_on_none() -> None:
    assert expected_day(invoice(issue_date=None), "payment") is None
    assert expected_day(order(issue_date="9999-12-31"), "invoice") == dt.date(9999, 12, 31)


def test_a_contract_is_found_years_after_it_was_made() -> None:
    contract = record("contract", "contract", number="V-77", issue_date="2019-03-01")

    assert [each.id for each in CandidateIndex([contract]).find(INVOICE)] == ["contract"]
    assert [each.id for each in CandidateIndex([INVOICE]).find(contract)] == ["invoice"]
