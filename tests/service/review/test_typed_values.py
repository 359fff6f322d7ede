"""Values as people type them."""

import pytest
from pydantic import JsonValue

from docmill.schemas.outline import FieldOutline, Kind, outline
from docmill.schemas.registry import REGISTRY
from docmill.service.review.typed_values import converted, parse_sent, parse_typed


def _typed(kind: Kind, name: str, text: str) -> JsonValue:
    return parse_typed(FieldOutline(name, kind), text)


@pytest.mark.parametrize(
    ("kind", "name", "text", "value"),
    [
        ("date", "issue_date", " 2026-11-03 ", "2026-11-03"),
        ("date", "issue_date", "3.11.2026", "2026-11-03"),
        ("date", "issue_date", "11/13/2026", "2026-11-13"),
        ("date", "issue_date", "3 Nov 2026", "2026-11-03"),
        ("date", "issue_date", "03/03/2026", "2026-03-03"),
        ("time", "time", "14:32", "14:32:00"),
        ("time", "time", "14:32:00+02:00", "14:32:00+02:00"),
        ("time", "time", "14:32:05.500000", "14:32:05.500000"),
        ("time", "time", "2:32 pm", "14:32:00"),
        ("text", "time", "two weeks", "two weeks"),
        ("datetime", "at", "2026-11-03 14:32", "2026-11-03T14:32:00"),
        ("decimal", "tip", "12,90", "12.90"),
        ("decimal", "tip", "-1.234,50 €", "-1234.50"),
        ("decimal", "tip", "(5.00)", "-5.00"),
        ("decimal", "tip", "0.1234", "0.1234"),
        ("integer", "count", "-5", -5),
        ("boolean", "paid", "Yes", True),
        ("boolean", "paid", "0", False),
        ("text", "number", "a  b", "a  b"),
        ("text", "number", "\u202eR-\x0017\u202c\r\n", "R-17"),
        ("text", "address", "8 Forge Lane\r\n\tSheffield\ufeff", "8 Forge Lane\n Sheffield"),
        ("text", "name", "می\u200cشود", "می\u200cشود"),
        ("date", "issue_date", "\u200e2026-11-03\u200e", "2026-11-03"),
        ("text", "seller.vat_id", "DE 136695976", "DE136695976"),
        ("text", "payment.iban", "de89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("text", "currency", "€", "EUR"),
    ],
)
def test_what_is_clear_is_taken(kind: Kind, name: str, text: str, value: JsonValue) -> None:
    assert _typed(kind, name, text) == value


@pytest.mark.parametrize(
    ("kind", "name", "text", "sentence"),
    [
        ("date", "issue_date", "03/11/2026", "Day or month first"),
        ("date", "issue_date", "2026-02-30", "no such day"),
        ("date", "issue_date", "31.02.2026", "no such day"),
        ("date", "issue_date", "soon", "not a date"),
        ("time", "time", "noon", "not a time"),
        ("datetime", "at", "noon", "not a date with a time"),
        ("decimal", "tip", "1.234", "Write 1234 for thousands, 1.2340 for decimals"),
        ("decimal", "tip", "about 5", "not an amount"),
        ("decimal", "tip", "5 and 6", "not an amount"),
        ("integer", "count", "5.5", "whole number"),
        ("boolean", "paid", "perhaps", "yes or no"),
        ("text", "payment.bic", "nonsense!", "no valid BIC"),
        ("text", "currency", "XXQ", "no currency"),
        ("text", "number", "1" * 5001, "too long"),
        ("text", "number", "\u202e\n\r", "no letter or digit"),
        ("text", "number", " - ", "no letter or digit"),
        ("text", "currency", "\u200b", "no currency"),
    ],
)
def test_what_is_not_is_refused_in_words(kind: Kind, name: str, text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _typed(kind, name, text)


def test_a_choice_is_one_of_those_that_there_are() -> None:
    color = FieldOutline("color", "text", choices=("Red", "Blue"))

    assert parse_typed(color, "red") == "Red"
    with pytest.raises(ValueError, match="one of: Red, Blue"):
        parse_typed(color, "green")


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("decimal", "1.234", "1.234"),
        ("decimal", 12.9, "12.9"),
        ("decimal", "1.234,50", "1234.50"),
        ("integer", 5, 5),
        ("boolean", True, True),
        ("text", "a", "a"),
    ],
)
def test_programs_mean_what_they_say(kind: Kind, value: JsonValue, kept: JsonValue) -> None:
    assert parse_sent(FieldOutline("field", kind), value) == kept


@pytest.mark.parametrize(
    ("kind", "value"), [("text", 5), ("integer", True), ("decimal", True), ("date", [1])]
)
def test_programs_are_told_of_wrong_kinds(kind: Kind, value: JsonValue) -> None:
    with pytest.raises(ValueError, match="sent as a string"):
        parse_sent(FieldOutline("field", kind), value)


@pytest.mark.parametrize(
    ("kind", "value", "same"),
    [
        ("text", "  as it is ", "  as it is "),
        ("text", 5, "5"),
        ("text", True, "yes"),
        ("date", "3.12.2026", "2026-12-03"),
        ("decimal", "1.200,50 EUR", "1200.50"),
        ("decimal", 7, "7"),
        ("integer", "12.00", 12),
        ("boolean", "no", False),
        ("boolean", True, True),
        ("date", None, None),
    ],
)
def test_a_value_is_converted_to_the_kind_of_a_field(kind: Kind, value: JsonValue, same: JsonValue) -> None:
    assert converted(FieldOutline("field", kind), value) == same


@pytest.mark.parametrize(
    ("kind", "value"), [("integer", "12.50"), ("date", "soon"), ("decimal", True), ("boolean", "7")]
)
def test_a_value_that_can_be_none_of_a_kind_is_not_converted(kind: Kind, value: JsonValue) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        converted(FieldOutline("field", kind), value)


@pytest.mark.parametrize(("text", "value"), [("14.32", "14:32"), ("2:32:05 pm", "14:32:05")])
def test_the_time_of_a_receipt_is_by_the_clock_of_24_hours(text: str, value: str) -> None:
    assert parse_typed(_time_of_a_receipt(), text) == value


@pytest.mark.parametrize("text", ["Corner Bakery", "14:72", "14:32 or so"])
def test_the_time_of_a_receipt_is_no_other_text(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        parse_typed(_time_of_a_receipt(), text)


def _time_of_a_receipt() -> FieldOutline:
    return next(leaf for leaf in outline(REGISTRY["receipt"]) if leaf.path == "time")
