"""What the texts of bookings say of payments that the bank has returned."""

import pytest

from docmill.matching.return_words import ReturnLevel, return_words


@pytest.mark.parametrize(
    ("text", "level", "found"),
    [
        ("RE-2026-0815 Rücklastschrift", ReturnLevel.WORDS, "rucklastschrift"),
        ("SEPA-RUECKLASTSCHRIFT RE 815", ReturnLevel.WORDS, "ruecklastschrift"),
        ("Rückgabe SEPA-Lastschrift vom 02.02.", ReturnLevel.WORDS, "ruckgabe sepa"),
        ("Lastschrift-Rückgabe", ReturnLevel.WORDS, "lastschrift-ruckgabe"),
        ("Rücküberweisung Ihrer Zahlung", ReturnLevel.POSSIBLE, "ruckuberweisung"),
        ("Chargeback 4711", ReturnLevel.WORDS, "chargeback"),
        ("RETURNED DIRECT DEBIT", ReturnLevel.WORDS, "returned direct debit"),
        ("REJET PRELEVEMENT EDF", ReturnLevel.WORDS, "rejet prelevement"),
        ("DEVOLUCIÓN RECIBO 0815", ReturnLevel.WORDS, "devolucion recibo"),
        ("Storno incasso", ReturnLevel.WORDS, "storno incasso"),
        ("Rückgabe AC04 Konto erloschen", ReturnLevel.CODE, "AC04"),
        ("RE-1 RETURN/MD06", ReturnLevel.CODE, "MD06"),
        ("RE-1 RETURN/CUST", ReturnLevel.CODE, "CUST"),
        ("Retoure CUST 4711", ReturnLevel.POSSIBLE, "retoure"),
        ("Rücklastschrift MS03", ReturnLevel.CODE, "MS03"),
        ("RETOURE RE-2026-0815", ReturnLevel.POSSIBLE, "retoure"),
        ("Returned: name unknown", ReturnLevel.POSSIBLE, "returned"),
        ("Klimagerät AC01", ReturnLevel.POSSIBLE, "AC01"),
        ("Gutschrift GS-12 zu Ihrer Retoure", ReturnLevel.UNKNOWN, ""),
        ("Refund for returned goods", ReturnLevel.UNKNOWN, ""),
        ("Rückgabe der Ware, Erstattung", ReturnLevel.UNKNOWN, ""),
        ("Gebühr Rücklastschriftgebühr", ReturnLevel.UNKNOWN, ""),
        ("Gehalt Januar", ReturnLevel.UNKNOWN, ""),
        ("Stornogebühr", ReturnLevel.UNKNOWN, ""),
        ("", ReturnLevel.UNKNOWN, ""),
    ],
)
def test_words_of_banks_are_told_from_those_of_firms(text: str, level: ReturnLevel, found: str) -> None:
    assert return_words(text) == (level, found)
