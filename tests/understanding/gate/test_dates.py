from collections.abc import Callable
from datetime import date

import pytest

from docmill.model.result import Failure
from docmill.schemas.registry import REGISTRY

Judge = Callable[..., list[Failure]]

APRIL = {"issue_date": (date(2026, 4, 3), "03/04/2026")}


@pytest.mark.parametrize(
    "page",
    [
        "Invoice\nDate: 03/04/2026",
        "Invoice\nDate: 03/04/2026\nTotal   $ 12.00",
        "Invoice\nToronto, Canada\nDate: 03/04/2026",
        "Invoice\nhello@harbour.co\nDate: 03/04/2026",
    ],
)
def test_a_day_that_may_be_a_month_is_asked_about(judge: Judge, page: str) -> None:
    (failure,) = judge("ambiguous_date", page, APRIL)

    assert failure.message == "Date may be 3 April 2026 or 4 March 2026: please say which."
    assert failure.fields == ("issue_date",)


@pytest.mark.parametrize(
    "page",
    [
        "Invoice\nDate: 03/04/2026\nDue: 25/04/2026",
        "Invoice\nPage 1 of 1   Printed 02.03.2026\nDate: 03/04/2026",
        "Beispiel GmbH\nDate: 03/04/2026",
        "www.harbour.co.uk\nDate: 03/04/2026",
        "12 High Street, London, United Kingdom\nDate: 03/04/2026",
        "Rechnung\nDatum der Rechnung 03/04/2026\nZahlbar bis zum Ende des Monats, wir danken",
    ],
)
def test_another_date_a_country_or_the_language_tells_the_order(judge: Judge, page: str) -> None:
    assert judge("ambiguous_date", page, APRIL) == []


def test_a_currency_tells_the_order(judge: Judge) -> None:
    euros = {**APRIL, "currency": ("EUR", "EUR")}

    assert judge("ambiguous_date", "Date: 03/04/2026\nTotal   EUR 12.00", euros) == []


def test_a_paper_of_the_united_states_has_the_month_first(judge: Judge) -> None:
    page = "Acme Inc\n1 Main Street\nSpringfield, IL 62701\nDate: 03/04/2026"

    (failure,) = judge("ambiguous_date", page, APRIL)

    assert failure.message == "Date may be 3 April 2026 or 4 March 2026: please say which."
    assert judge("ambiguous_date", page, {"issue_date": (date(2026, 3, 4), "03/04/2026")}) == []


def test_a_telephone_number_tells_the_united_states_if_nothing_else_does(judge: Judge) -> None:
    page = "Corner Diner\n(386) 555-8625\nDate: 03/04/2026"
    march = {"issue_date": (date(2026, 3, 4), "03/04/2026")}

    assert judge("ambiguous_date", page, march) == []
    assert judge("ambiguous_date", f"{page}\nHST 13 %", march) != []


def test_the_same_number_twice_needs_no_order(judge: Judge) -> None:
    assert judge("ambiguous_date", "Date: 04/04/2026", {"issue_date": (date(2026, 4, 4), "04/04/2026")}) == []


def test_a_printing_date_is_not_the_date_of_the_invoice(judge: Judge) -> None:
    day = {"issue_date": (date(2026, 4, 23), "23/04/2026")}

    assert judge("date_label", "Printed on: 23/04/2026", day)
    assert judge("date_label", "Due date: 23/04/2026", day)
    assert not judge("date_label", "Invoice date: 23/04/2026", day)
    assert not judge("date_label", "Order date: 23/04/2026", day)


def test_an_order_is_not_delivered_before_it_is_written(judge: Judge) -> None:
    days: dict[str, tuple[object, str]] = {
        "issue_date": (date(2026, 4, 23), ""),
        "delivery_date": (date(2026, 4, 2), ""),
    }

    assert judge("date_order", "nothing", days, schema=REGISTRY["purchase_order"])
    assert not judge("date_order", "nothing", days, schema=REGISTRY["invoice"])


def test_a_delivery_years_from_the_invoice_is_doubted(judge: Judge) -> None:
    days: dict[str, tuple[object, str]] = {
        "issue_date": (date(2026, 4, 23), ""),
        "delivery_date": (date(2016, 4, 2), ""),
    }

    assert judge("date_distance", "nothing", days)


def test_a_short_year_may_come_first_if_the_page_says_so(judge: Judge) -> None:
    day = {"issue_date": (date(2013, 3, 15), "15-03-13")}

    (failure,) = judge("ambiguous_date", "Date 15-03-13\nValid until end of 2015", day)

    assert failure.message == "Date may be 15 March 2013 or 13 March 2015: please say which."
    assert not judge("ambiguous_date", "Date 15-03-13\n(c) 2013 Acme, until 2015", day)
    assert not judge("ambiguous_date", "Date 15-03-13", day)


def test_a_quote_does_not_end_before_it_is_written(judge: Judge) -> None:
    quote = REGISTRY["quote"]
    days: dict[str, tuple[object, str]] = {"issue_date": (date(2026, 4, 23), "")}

    assert judge("date_order", "nothing", {**days, "valid_until": (date(2026, 4, 2), "")}, schema=quote)
    assert not judge("date_order", "nothing", {**days, "valid_until": (date(2026, 5, 2), "")}, schema=quote)


def test_a_reminder_may_name_the_day_that_has_passed(judge: Judge) -> None:
    days: dict[str, tuple[object, str]] = {
        "issue_date": (date(2026, 4, 23), ""),
        "due_date": (date(2026, 4, 2), ""),
    }

    assert judge("date_order", "nothing", days, schema=REGISTRY["invoice"])
    assert not judge("date_order", "nothing", days, schema=REGISTRY["reminder"])


def test_bookings_lie_in_the_period_of_their_statement(judge: Judge) -> None:
    statement = REGISTRY["bank_statement"]
    period: dict[str, tuple[object, str]] = {
        "period_start": (date(2026, 4, 1), ""),
        "period_end": (date(2026, 4, 30), ""),
        "transactions[0].date": (date(2026, 4, 2), ""),
    }
    later = {**period, "transactions[1].date": (date(2026, 6, 2), "")}
    valued = {**period, "transactions[1].date": (date(2026, 5, 2), "")}

    (failure,) = judge("booking_date", "nothing", later, schema=statement)

    assert (
        failure.message == "A booking of 2026-06-02 is outside of the period from 2026-04-01 to 2026-04-30."
    )
    assert failure.fields == ("period_start", "period_end", "transactions[1].date")
    assert not judge("booking_date", "nothing", valued, schema=statement)


def test_the_day_of_despatch_is_the_day_of_a_delivery_note_and_of_no_other_paper(judge: Judge) -> None:
    page = "Skipwith Joinery Despatch date 2026-04-09"
    day = {"issue_date": (date(2026, 4, 9), "2026-04-09")}

    (failure,) = judge("date_label", page, day)

    assert "another label: 'Despatch date'" in failure.message
    assert judge("date_label", page, day, schema=REGISTRY["delivery_note"]) == []


def test_the_day_on_which_a_sale_began_and_ended_is_the_day_of_a_receipt_and_of_no_other_paper(
    judge: Judge,
) -> None:
    page = "Kasse 4 Beginn: 09.04.2026 11:02\nTSE Ende: 2026-04-09"
    day = {"issue_date": (date(2026, 4, 9), "2026-04-09")}

    assert judge("date_label", page, day, schema=REGISTRY["ticket"])
    assert judge("date_label", page, day, schema=REGISTRY["receipt"]) == []
    for other in ("Garantie bis: 2026-04-09", "Beginn: 09.04.2025\nVertragsende: 2026-04-09"):
        assert judge("date_label", other, day, schema=REGISTRY["receipt"])
