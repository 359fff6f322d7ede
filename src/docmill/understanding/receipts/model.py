"""The receipts' model, and the shipped copy of it."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.receipts.amounts import Amounts
from docmill.understanding.receipts.field_places import FORMS
from docmill.understanding.receipts.scorers import CharNgramModel, Trees
from docmill.understanding.receipts.spans import ROLES, Field
from docmill.understanding.receipts.word_correction import WordCorrector

FIELDS: tuple[Field, ...] = ("name", "address")
TOTAL = "gross_total"
LEARNED = (*ROLES.values(), TOTAL, *FORMS)
"""The paths of the fields that are learned."""
FILE = "receipts.npz"


@dataclass(frozen=True, slots=True)
class ReceiptModel:
    """Taggers of lines, and scorers of spans, of amounts, and of the places of other fields.

    places: by path, as in `field_places.FORMS`.
    """

    letters: CharNgramModel
    tagger: Trees
    contexts: CharNgramModel
    spans: Mapping[Field, Trees]
    totals: Trees
    places: Mapping[str, Trees]
    corrector: WordCorrector

    def dumps(self) -> bytes:
        """The stored form. The same model gives the same bytes in one version of Python."""
        parts: dict[str, Mapping[str, NDArray[np.generic]]] = {
            "letters": self.letters.arrays(),
            "tagger": self.tagger.arrays(),
            "contexts": self.contexts.arrays(),
            "totals": self.totals.arrays(),
            "mender": self.corrector.arrays(),
            **{f"spans {field}": trees.arrays() for field, trees in self.spans.items()},
            **{f"places {path}": trees.arrays() for path, trees in self.places.items()},
        }
        file = io.BytesIO()
        np.savez_compressed(
            file,
            allow_pickle=False,
            **{f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()},
        )
        return file.getvalue()


def loads(content: bytes) -> ReceiptModel:
    """The model of `ReceiptModel.dumps`."""
    parts: dict[str, dict[str, NDArray[np.generic]]] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        for key in file.files:
            part, _, name = key.partition("/")
            parts.setdefault(part, {})[name] = file[key]
    return ReceiptModel(
        letters=CharNgramModel.of(parts["letters"]),
        tagger=Trees.of(parts["tagger"]),
        contexts=CharNgramModel.of(parts["contexts"]),
        spans={field: Trees.of(parts[f"spans {field}"]) for field in FIELDS},
        totals=Trees.of(parts["totals"]),
        places={path: Trees.of(parts[f"places {path}"]) for path in FORMS},
        corrector=WordCorrector.of(parts["mender"]),
    )


@cache
def shipped() -> ReceiptModel:
    """The model that comes with docmill; see MODEL_CARD.md beside it."""
    return loads(resources.files("docmill.understanding.receipts").joinpath(FILE).read_bytes())


def context_scores(contexts: CharNgramModel, amounts: Amounts) -> NDArray[np.float32]:
    """The highest, lowest and last score of the texts before each value's places."""
    rows: list[list[float]] = []
    for texts in amounts.contexts:
        scores = contexts.scores(texts)
        lead = scores[:, 1] - scores[:, 0]
        rows.append([float(lead.max()), float(lead.min()), float(lead[-1])])
    return np.array(rows, np.float32)
