"""Checks of pages: text that is not believed, cut edges, and a total that is missing below a subtotal."""

from collections.abc import Iterator

from docmill.model.document import Box, Page
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput, meanings_before, numbers_in
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import CASH_ROUNDING
from docmill.understanding.vocabulary import Concept

_EDGE = 0.006
"""Fraction of the page within which a word touches its edge."""
_NEAR = 0.015
"""The same at an edge through which the page's print runs."""
_AMOUNTS = ("net_total", "tax_total", "gross_total", "amount_due")
_DATES = ("issue_date", "due_date")
_OF_TOTALS = frozenset(
    {Concept.TOTAL, Concept.GRAND, Concept.GROSS, Concept.DUE, Concept.INCLUDING, Concept.AMOUNT}
)
_READ_WELL = 0.7
"""Least quality of a page that was recognised because its own text is not believed."""


def check_text_layers(judged: GateInput) -> Iterator[Failure]:
    """A failure for each page of which neither the stored nor the recognised text can be relied on."""
    for page in judged.document.pages:
        if page.layer_doubt is not None and page.quality < _READ_WELL:
            message = (
                f"The text stored in the PDF is not what page {page.number} shows, and recognition did not"
                " read it well; please compare all values with the page."
            )
            yield Failure(check="text_layer", message=message)


def check_edges(judged: GateInput) -> Iterator[Failure]:
    """Failures of amounts and dates that an edge of a recognised page may have cut."""
    pages = {page.number: page for page in judged.document.pages if page.engine is not None}
    for role in (*_AMOUNTS, *_DATES):
        path = judged.path(role)
        evidence = judged.evidence(path)
        page = pages.get(evidence.page or 0) if evidence is not None else None
        if path not in judged.values or evidence is None or page is None or not evidence.box:
            continue
        value = f"{judged.name(path)} {judged.values[path]}"
        if _is_cut(evidence.box, evidence.text or "", page):
            message = f"{value} touches the edge of the picture, which may cut it off."
            yield Failure(check="cut_off", message=message, fields=(path,))
        elif role == "gross_total" and "bottom" in page.cut_edges and _is_on_last_line(evidence.box, page):
            message = f"{value} stands on the last line before the picture ends, which may cut off the total."
            yield Failure(check="cut_off", message=message, fields=(path,))


def _is_cut(box: Box, text: str, page: Page) -> bool:
    """Return whether part of a value may be missing.

    It ends at the right edge or begins with a digit at the left one, or its line runs through the upper or
    lower one.
    """
    right, left = (_NEAR if edge in page.cut_edges else _EDGE for edge in ("right", "left"))
    is_line_cut = ("top" in page.cut_edges and box.y0 < _EDGE) or (
        "bottom" in page.cut_edges and box.y1 > 1 - _EDGE
    )
    return is_line_cut or box.x1 > 1 - right or (box.x0 < left and text[:1].isdecimal())


def _is_on_last_line(box: Box, page: Page) -> bool:
    """Return whether no line of the page lies below a value."""
    middles = (page.words.boxes[:, 1] + page.words.boxes[:, 3]) / 2
    return bool((middles <= box.y1).all())


def check_subtotal(judged: GateInput) -> Iterator[Failure]:
    """A failure of a total printed once, beside the label of a subtotal, that no sum or payment confirms."""
    path = judged.path("gross_total")
    line = judged.line_of(path) if path in judged.values else None
    evidence = judged.evidence(path)
    if line is None or evidence is None:
        return
    meanings = meanings_before(line)
    if Concept.SUBTOTAL in meanings and meanings.isdisjoint(_OF_TOTALS):
        is_twice = line.page.text.count((evidence.text or "").split()[-1]) > 1
        if is_twice or _is_sum(judged) or _is_paid_with_change(judged):
            return
        message = (
            f"{judged.name(path)} {judged.values[path]} is a subtotal; the total may be missing on the page."
        )
        yield Failure(check="subtotal", message=message, fields=(path,))


def _is_sum(judged: GateInput) -> bool:
    """Return whether net total and tax add up to the total."""
    net, tax, gross = (judged.amount(role) for role in ("net_total", "tax_total", "gross_total"))
    return None not in (net, tax, gross) and abs((net or 0) + (tax or 0) - (gross or 0)) <= CASH_ROUNDING


def _is_paid_with_change(judged: GateInput) -> bool:
    """Return whether the page prints a payment, and a change that is the payment less the total."""
    gross = judged.amount("gross_total")
    lines = [line for page in judged.document.pages for line in page.text.splitlines()]
    of_change = [
        line for line in lines if any(Concept.CHANGE in label.meanings for label in LABELS.find(line))
    ]
    change = numbers_in("\n".join(of_change))
    return gross is not None and any(left and gross + left in judged.printed_numbers for left in change)
