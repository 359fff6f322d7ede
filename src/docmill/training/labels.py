"""Which lines, spans and amounts of a receipt are what its labels say."""

import re
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits
from docmill.understanding.receipts.head import Head
from docmill.understanding.receipts.spans import Choices

_LEAST_LINES = 75
"""Likeness, in percent, from which lines are taken for the labelled ones though letters differ."""
_LEAST_SPAN = 82
_EXACT = 101.0
_LENGTH = 0.35
"""Share by which the lengths of span and label may differ."""


def likeness(head: Head, choices: Choices, label: str) -> NDArray[np.float64]:
    """How like each span is the label: 101 the same letters and digits, else 0 to 100."""
    wanted = letters_and_digits(label)
    found = np.zeros(len(choices.choices))
    if not wanted:
        return found
    slack = _LENGTH * max(4, len(wanted))
    for index in range(len(choices.choices)):
        text = letters_and_digits(choices.text(head, index))
        if text == wanted:
            found[index] = _EXACT
        elif abs(len(text) - len(wanted)) <= slack:
            found[index] = fuzz.ratio(text, wanted)
    return found


def best_lines(choices: Choices, likenesses: NDArray[np.float64]) -> tuple[int, int] | None:
    """The lines of the span most like the label."""
    if not len(likenesses) or likenesses.max() < _LEAST_LINES:
        return None
    best = choices.choices[int(likenesses.argmax())]
    return best.first, best.stop


def right_spans(likenesses: NDArray[np.float64]) -> NDArray[np.int64]:
    """1 for the spans to be chosen. All 0 where none is near."""
    most = likenesses.max(initial=0)
    if most < _LEAST_SPAN:
        return np.zeros(len(likenesses), np.int64)
    return (likenesses >= most - 1e-9).astype(np.int64)


def amount(text: str) -> Decimal | None:
    """A labelled amount."""
    match = re.search(r"-?\d[\d,]*(?:\.\d+)?", text.replace(" ", ""))
    try:
        return Decimal(match[0].replace(",", "")).quantize(Decimal("0.01")) if match else None
    except InvalidOperation:
        return None
