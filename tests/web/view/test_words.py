"""Words for people."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from docmill.service.store import documents
from docmill.web.languages import moment_text
from docmill.web.view.cards import Money, extension, money, size
from docmill.web.view.words import STATES, duration, engine_name, sentence, step_name, type_name

START = datetime(2026, 11, 3, 14, 32, tzinfo=UTC)


def test_every_state_has_words() -> None:
    assert set(STATES) == {*documents.STATES, documents.NOT_READ, documents.REJECTED}


@pytest.mark.parametrize(
    ("end_s", "words"), [(0.25, "0.2 s"), (59, "59.0 s"), (90, "1.5 min"), (7200, "2.0 h")]
)
def test_durations_are_short(end_s: float, words: str) -> None:
    assert duration(START, START + timedelta(seconds=end_s)) == words


def test_times_that_are_not_known_are_a_dash() -> None:
    assert (moment_text(None), duration(None, START), duration(START, None)) == ("-", "-", "-")
    assert moment_text(START) == "2026-11-03 14:32 UTC"


@pytest.mark.parametrize(("byte_size", "words"), [(1, "1 KB"), (67_400, "67 KB"), (2_345_678, "2.3 MB")])
def test_sizes_are_rounded(byte_size: int, words: str) -> None:
    assert size(byte_size) == words


@pytest.mark.parametrize(
    ("name", "words"), [("a.pdf", "PDF"), ("archive.markdown", "MARKD"), ("README", "FILE"), ("a.", "FILE")]
)
def test_a_file_without_a_picture_shows_its_ending(name: str, words: str) -> None:
    assert extension(name) == words


def test_the_amount_that_matters_is_shown() -> None:
    shown = money({"net_total": "10.00", "gross_total": "1234.5", "currency": "EUR"})

    assert shown is not None
    assert (shown.amount, shown.currency) == ("1,234.50", "EUR")
    assert money({"gross_total": None, "closing_balance": Decimal(-3)}) is not None
    assert money({"gross_pay": "2990.00", "net_pay": "2303.54", "currency": "GBP"}) == Money(
        "2,303.54", "GBP"
    )
    assert money({"gross_total": "a lot"}) is None
    assert money(None) is None


def test_nothing_stands_for_a_total_that_is_not_believed() -> None:
    withheld = {"gross_total": None, "net_total": "40.33", "tax_total": "3.27", "amount_due": "40.33"}
    assert money(withheld, "receipt") is None
    assert money({"gross_total": None, "net_total": "40.33", "tax_total": "3.27"}, "quote") is None
    assert money({"gross_total": None, "net_total": "1577.94"}, "purchase_order") == Money("1,577.94", "")


def test_what_has_no_word_keeps_its_own() -> None:
    assert (type_name("poem"), type_name(None)) == ("poem", "")
    assert step_name("dream") == "Waiting for its turn"


def test_a_message_becomes_a_sentence() -> None:
    assert sentence("the file is damaged") == "The file is damaged."
    assert sentence("Is it?") == "Is it?"
    assert sentence("") == "."


@pytest.mark.parametrize(("engine", "words"), [("rapidocr", "RapidOCR"), ("own", "own"), (None, "")])
def test_the_engine_that_read_a_page_is_named(engine: str | None, words: str) -> None:
    assert engine_name(engine) == words
