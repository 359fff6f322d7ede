"""Check of the texts of parties: a name is no item, title or label, and an address begins with none."""

import re
from collections.abc import Iterator

from docmill.model.document import letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, ValueLine
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.titles import is_title
from docmill.understanding.text.folding import fold
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

_PARTIES = ("seller", "buyer")
_NAMES = ("seller.name", "buyer.name")
_LABELLED = re.compile(r"\s*[^\W\d][^:\d]{1,30}:\s*\S")
"""A label and what it names."""
_SENTENCE = re.compile(r"\w \S*[^\W\d_]{4,}\. [A-Z]")
"""The end of a sentence of several words, and the beginning of something else."""
_FOR = frozenset(("for", "fur", "voor", "pour", "para"))
"""Words before the name of the one to whom a paper goes, folded."""
_LONG_CAPITALS = 8
"""Letters in capitals behind the legal form of a firm that are no part of its name."""
_SHORTEST_LABEL = 6
"""Letters of a label that is hardly the beginning of a name."""
_OTHER_LABELS = {
    "seller": frozenset({Concept.BUYER, Concept.SHIP_TO}),
    "buyer": frozenset({Concept.SELLER, Concept.SHIP_FROM}),
}
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
    for path, other_path in (_NAMES, _NAMES[::-1]):
        text = judged.values.get(path)
        if not isinstance(text, str) or _LABELLED.match(text):
            continue
        if _begins_with_label(text, party=path.partition(".")[0]):
            message = f"{judged.name(path)} {text!r} seems to begin with the label of another party."
            fields = tuple(each for each in (path, other_path) if each in judged.values)
            yield Failure(check="party_name", message=message, fields=fields)


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
    behind = text[legal_form_end(text) :].strip() if legal_form_end(text) else ""
    if behind and (is_title(behind) or (len(behind) > _LONG_CAPITALS and behind.isupper())):
        return "a name and a title behind it"
    line = judged.line_of(path)
    is_item = letters_and_digits(text) in _items(judged)
    return "an item" if is_item or (line is not None and _is_row_of_amounts(line)) else ""


def _begins_with_label(text: str, *, party: str) -> bool:
    """Return whether a name begins with the label of another party, or with `for`: `Cliente El Faro`.

    A label of the party itself may be part of its name: `Lieferant GmbH`.
    """
    first = fold(text.partition(" ")[0])
    if first in _FOR and " " in text:
        return True
    labels = [label for label in LABELS.find(text) if label.start == 0 and label.quality == 1]
    return any(
        _SHORTEST_LABEL <= label.stop < len(text) and not _OTHER_LABELS[party].isdisjoint(label.meanings)
        for label in labels
    )


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
