"""Cross-validation of the receipts' model by vendor, and the model that is shipped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

import numpy as np

from docmill.model.document import letters_and_digits
from docmill.training.folds import folds
from docmill.training.receipts import Prepared, amount, trained
from docmill.training.scorers import calibrated
from docmill.understanding.receipts.extractor import Answer, answers
from docmill.understanding.receipts.model import PATHS, Calibration, ReceiptModel
from docmill.understanding.text.dates import find_dates

FOLDS = 5


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A receipt's answers by a model that has seen none of its group. right: by path, where labelled."""

    document: Prepared
    fold: int
    answers: Mapping[str, Answer]
    right: Mapping[str, bool]


def held_out(
    documents: Sequence[Prepared],
    *,
    group: Callable[[Prepared], str] = lambda one: one.example.vendor,
    seed: int = 0,
) -> list[HeldOut]:
    """Every receipt as held out. group: what is held out together; two readings of one receipt always are."""
    fold_of = folds({one.example.key: group(one) for one in documents}, FOLDS, seed=seed)
    found: list[HeldOut] = []
    for fold in range(FOLDS):
        model = trained([one for one in documents if fold_of[one.example.key] != fold])
        for one in documents:
            if fold_of[one.example.key] == fold:
                said = answers(one.candidates, one.ruled, model)
                found.append(HeldOut(one, fold, said, _right(said, one.example.truth)))
    return found


def _right(said: Mapping[str, Answer], truth: Mapping[str, str]) -> dict[str, bool]:
    return {path: is_right(answer.value, truth[path]) for path, answer in said.items() if truth.get(path)}


def is_right(value: date | Decimal | str, label: str) -> bool:
    """Tell whether a value is the label: text by letters and digits, dates and amounts as such."""
    if isinstance(value, Decimal):
        return value == amount(label)
    if isinstance(value, date):
        return any(written.value(day_first=True) == value for written in find_dates(label))
    return letters_and_digits(value) == letters_and_digits(label)


def calibrations(found: Sequence[HeldOut]) -> dict[str, Calibration]:
    """The confidence curve of each field, from held-out answers."""
    result: dict[str, Calibration] = {}
    for path in PATHS.values():
        labelled = [one for one in found if path in one.right]
        result[path] = calibrated(
            np.array([one.answers[path].features for one in labelled]),
            np.array([one.right[path] for one in labelled], np.bool_),
        )
    return result


def shippable(documents: Sequence[Prepared], found: Sequence[HeldOut]) -> ReceiptModel:
    """The model of all documents, believed as far as its like were on documents they had not seen."""
    return replace(trained(documents), calibrations=calibrations(found))
