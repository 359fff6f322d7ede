"""A booking of a statement is recognised when the statement is read again."""

from tests.matching.records import paid, payments

from docmill.matching.bookings import is_lost_booking, moved_bookings
from docmill.matching.match_record import MatchRecord

RENT = paid("950.00", description="Miete")
POWER = paid("50.00", description="Abschlag")
GOODS = paid("1190.00")


def reading(*transactions: dict[str, str]) -> dict[str, MatchRecord]:
    return {record.id: record for record in payments(*transactions)}


def test_bookings_that_are_where_they_were_are_not_moved() -> None:
    before = reading(POWER, RENT, RENT)

    assert moved_bookings(before, reading(POWER, RENT, RENT, GOODS)) == {}


def test_with_a_row_less_those_behind_it_are_moved() -> None:
    moved = moved_bookings(reading(POWER, RENT, GOODS), reading(RENT, GOODS))

    assert moved["statement#2"] == "statement#1"
    assert moved["statement#3"] == "statement#2"
    assert is_lost_booking(moved["statement#1"])


def test_what_is_lost_is_given_back_by_a_later_reading() -> None:
    (lost,) = moved_bookings(reading(POWER), reading()).values()

    assert moved_bookings(reading(), reading(RENT, POWER), frozenset({lost})) == {lost: "statement#2"}


def test_of_bookings_of_one_amount_the_text_decides_and_then_the_place() -> None:
    other = {**RENT, "description": "Miete Garage"}

    assert moved_bookings(reading(RENT, other), reading(other, RENT)) == {
        "statement#1": "statement#2",
        "statement#2": "statement#1",
    }
    misread = {**RENT, "description": "Mlete"}
    assert moved_bookings(reading(RENT, other), reading(misread, other)) == {}
