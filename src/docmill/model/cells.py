"""Cells of spreadsheets: texts that must never become formulas, and formulas without a result."""

import re

_FORMULA = re.compile(r"[\s\x00-\x20\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""First characters of formulas in spreadsheets; the last four are the wide forms of the first."""
_STORED_FORMULA = re.compile(
    r"=[\s(+\-@]*"
    r"(?:[^\W\d][\w.]*\(|\$?[A-Z]{1,3}\$?[0-9]|[0-9][0-9.,]*\)*(?:\s*[-+*/^].*)?$)",
    re.IGNORECASE,
)
"""A cell of a text file that holds a formula instead of its result."""
_KEPT_TEXT = re.compile(r'="((?:[^"]|"")*)"')
"""A text, often a number with zeros before it, that programs write as a formula to keep its form."""
NO_RESULT = "#?"
"""Text of a cell whose formula no program has calculated. It looks like no amount, date or name."""
_ERRORS = frozenset({
    "#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#CALC!", "#SPILL!", "#FIELD!",
    "#BLOCKED!", "#BEZUG!", "#NV", "#WERT!", "#ZAHL!", "#\u00dcBERLAUF!", "#KALK!", "#VALEUR!", "#NOM?",
    "#NOMBRE!", "#WAARDE!", "#VERW!", "#GETAL!", "#VALOR!", "#\u00a1REF!", "#\u00a1VALOR!", "#\u00a1DIV/0!",
    "#\u00bfNOMBRE?", "#VALORE!", "#RIF!", "#N/D",
})  # fmt: skip
"""Results that are errors, in the languages of spreadsheet programs."""
_ERROR_NUMBER = re.compile(r"Err:5\d\d")
"""Errors of formulas as LibreOffice shows them."""
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


def looks_like_formula(text: str) -> bool:
    """True if a spreadsheet could take a cell with this text for a formula."""
    return _FORMULA.match(text) is not None and _PLAIN_NUMBER.fullmatch(text) is None


def csv_text(text: str) -> str:
    """The text as a cell of a CSV file that no spreadsheet takes for a formula."""
    text = text.replace("\0", "")
    return f"'{text}" if looks_like_formula(text) else text


def is_without_result(word: str) -> bool:
    """True for the text of a cell whose formula has no result, or an error instead."""
    return word == NO_RESULT or word.upper() in _ERRORS or _ERROR_NUMBER.fullmatch(word) is not None


def shown_text(cell: str) -> str:
    """The text of a cell of a text file: without the formula that keeps its form, `NO_RESULT` for others."""
    text = cell.strip()
    if not text.startswith("="):
        return text
    if (kept := _KEPT_TEXT.fullmatch(text)) is not None:
        return kept[1].replace('""', '"')
    return NO_RESULT if _STORED_FORMULA.match(text) is not None else text
