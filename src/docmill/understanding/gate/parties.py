"""Checks of the parties: seller and buyer differ, and neither name stands beside another party's label."""

from collections.abc import Iterator

import numpy as np

from docmill.model.document import letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, ValueLine, label_before
from docmill.understanding.page.labels import LABELS, NAMES, PARTIES, covered_share
from docmill.understanding.text.codes import is_vat_id
from docmill.understanding.vocabulary import Concept

_PAIRS = (("seller", "buyer"), ("employer", "employee"), ("sender", "recipient"))
_MEMBERS = ("name", "vat_id", "address")
_SHORTEST = 4
"""Letters and digits of a name or address that tells who is meant."""
_OTHERS = {
    "seller.name": frozenset({Concept.BUYER, Concept.SHIP_TO, Concept.ADVERTISER, Concept.BANK}),
    "buyer.name": frozenset({Concept.SELLER, Concept.SHIP_FROM, Concept.BANK}),
}
"""Labels of other parties than the one of a field."""
_OF_AGENTS = "seller.name"
"""The field whose label is not that of an agency or a carrier; an agency may order."""
_ALONE = 0.8
"""Share of a line's letters that a label above a name takes."""
_LINES_ABOVE = 1.8
"""Heights of a name's line within which a label above it stands."""


def check_parties(judged: GateInput) -> Iterator[Failure]:
    """A failure of two parties with the same name, VAT identifier or address, for all that is the same."""
    for first, second in _PAIRS:
        same: list[str] = []
        message = ""
        for member in _MEMBERS:
            paths = (f"{first}.{member}", f"{second}.{member}")
            one, other = (letters_and_digits(str(judged.values.get(path) or "")) for path in paths)
            if member == "vat_id" and not is_vat_id(str(judged.values.get(paths[0]))):
                continue  # which another check says
            if one == other and len(one) >= _SHORTEST:
                names = f"{judged.name(paths[0])} and {judged.inner_name(paths[1])}"
                message = message or f"{names} are the same: {judged.values[paths[0]]!r}."
                same += paths
        if same:
            yield Failure(check="same_party", message=message, fields=tuple(same))


def check_party_label(judged: GateInput) -> Iterator[Failure]:
    """Failures of a seller or buyer whose name stands beside or below the label of another party."""
    if judged.own_fields is not None:
        return
    for path in _OTHERS:
        line = judged.line_of(path) if path in judged.values else None
        if line is None:
            continue
        label = next(
            (text for text in (line.before, _above(judged, path, line)) if _is_other(path, text)), ""
        )
        if label:
            named = f"{judged.name(path)} {judged.values[path]!r}"
            message = f"{named} stands beside another label: {label_before(label)!r}."
            yield Failure(check="party_label", message=message, fields=(path,))


def _is_other(path: str, text: str) -> bool:
    """Return whether a text ends with the label of another party."""
    end = len(text.rstrip(" :.-"))
    if any(label.stop >= end for label in NAMES.find(text)):
        return False
    if path == _OF_AGENTS and any(
        label.stop >= end and "other" in label.meanings for label in PARTIES.find(text)
    ):
        return True
    labels = [label for label in LABELS.find(text) if label.stop >= end]
    return bool(labels) and _OTHERS[path].issuperset(labels[-1].meanings)


def _above(judged: GateInput, path: str, line: ValueLine) -> str:
    """The text right above a name if it consists of a label; "" otherwise."""
    evidence = judged.evidence(path)
    if evidence is None or evidence.box is None:
        return ""
    box, words = evidence.box, line.page.words
    boxes = words.boxes
    of_line = boxes[words.lines == line.line]
    height = float(np.median(of_line[:, 3] - of_line[:, 1]))
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    is_above = (middles < box.y0) & (middles > box.y0 - _LINES_ABOVE * height)
    near = np.flatnonzero(is_above & (boxes[:, 0] < box.x1) & (boxes[:, 2] > box.x0))
    text = " ".join(words.texts[index] for index in near)
    share = max(covered_share(text, LABELS.find(text)), covered_share(text, PARTIES.find(text)))
    return text if text and share >= _ALONE else ""
