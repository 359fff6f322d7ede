"""Check of the texts of parties: a name is no item, title or label, and an address begins with none."""

import re
from collections.abc import Iterator

from docmill.model.document import letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, ValueLine
from docmill.understanding.page.titles import is_title
from docmill.understanding.text.money import find_amounts

_PARTIES = ("seller", "buyer")
_LABELLED = re.compile(r"\s*[^\W\d][^:\d]{1,30}:\s*\S")
"""A label and what it names."""
_SENTENCE = re.compile(r"\w \S*[^\W\d_]{4,}\. [A-Z]")
"""The end of a sentence of several words, and the beginning of something else."""
_WORD = re.compile(r"[^\W\d_]{4,}")
"""A word that is longer than a unit or a currency."""


def check_party_names(judged: GateInput) -> Iterator[Failure]:
    """Failures of names that are an item or the title, and of names and addresses that start with a label."""
    if judged.own_fields is not None or judged.document.embedded:
        return
    for party in _PARTIES:
        for path in (f"{party}.name", f"{party}.address"):
            text = judged.values.get(path)
            if isinstance(text, str) and (other := _other_text(judged, path, text)):
                message = f"{judged.name(path)} {text!r} seems to be {other}."
                yield Failure(check="party_name", message=message, fields=(path,))


def _other_text(judged: GateInput, path: str, text: str) -> str:
    """Noun for a text that is no name or address, or more than one, such as `a label`; "" if it is one."""
    if _LABELLED.match(text):
        return "a label with what it names"
    if not path.endswith(".name"):
        return ""
    if _SENTENCE.search(text):
        return "the end of a sentence and a name"
    if is_title(text):
        return "the document's title"
    line = judged.line_of(path)
    is_item = letters_and_digits(text) in _items(judged)
    return "an item" if is_item or (line is not None and _is_row_of_amounts(line)) else ""


def _items(judged: GateInput) -> set[str]:
    return {
        letters_and_digits(str(value))
        for path, value in judged.values.items()
        if path.startswith("lines[") and path.endswith(".description")
    }


def _is_row_of_amounts(line: ValueLine) -> bool:
    """Return whether only numbers, units and currencies follow a name: two numbers, or one with cents."""
    amounts = find_amounts(line.after, misread=False)
    is_amount = len(amounts) > 1 or any(amount.has_cents for amount in amounts)
    return is_amount and not _WORD.search(line.after)
