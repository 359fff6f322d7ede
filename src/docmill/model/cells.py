"""Texts of documents as cells of spreadsheets, where they must never become formulas."""

import re

_FORMULA = re.compile(r"[\s\x00-\x20\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""First characters of formulas in spreadsheets; the last four are the wide forms of the first."""
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")


def looks_like_formula(text: str) -> bool:
    """True if a spreadsheet could take a cell with this text for a formula."""
    return _FORMULA.match(text) is not None and _PLAIN_NUMBER.fullmatch(text) is None


def csv_text(text: str) -> str:
    """The text as a cell of a CSV file that no spreadsheet takes for a formula."""
    text = text.replace("\0", "")
    return f"'{text}" if looks_like_formula(text) else text
