"""Checks of what the edge of a picture cuts: an amount, or the total below a subtotal."""

from collections.abc import Iterator

from docmill.model.document import Box
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, meanings_before
from docmill.understanding.vocabulary import Concept

_EDGE = 0.006
"""Fraction of the page within which a word touches its edge."""
_AMOUNTS = ("net_total", "tax_total", "gross_total", "amount_due")
_OF_TOTALS = frozenset(
    {Concept.TOTAL, Concept.GRAND, Concept.GROSS, Concept.DUE, Concept.INCLUDING, Concept.AMOUNT}
)


def check_edges(judged: GateInput) -> Iterator[Failure]:
    """Failures of amounts that the left or right edge of a recognised page may have cut."""
    recognised = {page.number for page in judged.document.pages if page.source == "ocr"}
    for role in _AMOUNTS:
        path = judged.path(role)
        evidence = judged.evidence(path)
        if path not in judged.values or evidence is None or evidence.page not in recognised:
            continue
        if evidence.box and evidence.text and _is_cut(evidence.box, evidence.text):
            value = f"{judged.name(path)} {judged.values[path]}"
            message = f"{value} touches the edge of the picture, which may cut it off."
            yield Failure(check="cut_off", message=message, fields=(path,))


def _is_cut(box: Box, text: str) -> bool:
    """Return whether digits may be missing: an amount ends at the right edge, or begins at the left one."""
    return box.x1 > 1 - _EDGE or (box.x0 < _EDGE and text[0].isdecimal())


def check_subtotal(judged: GateInput) -> Iterator[Failure]:
    """A failure of a total that is printed once only, beside the label of a subtotal."""
    path = judged.path("gross_total")
    line = judged.line_of(path) if path in judged.values else None
    evidence = judged.evidence(path)
    if line is None or evidence is None:
        return
    meanings = meanings_before(line)
    if Concept.SUBTOTAL in meanings and meanings.isdisjoint(_OF_TOTALS):
        if line.page.text.count((evidence.text or "").split()[-1]) > 1:
            return
        message = (
            f"{judged.name(path)} {judged.values[path]} is a subtotal; the total may be missing on the page."
        )
        yield Failure(check="subtotal", message=message, fields=(path,))
