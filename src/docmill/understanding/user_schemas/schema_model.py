"""The model of a user's schema: weights of its fields from documents with known values, in a file."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.model.corrections import LayoutWeights, Weights
from docmill.model.document import Document
from docmill.understanding.fields.features import CandidateFeatures, Rows, best_features, layout_words
from docmill.understanding.fields.findings import probabilities
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.log_odds import Outcome, log_odds, shift_probability
from docmill.understanding.text.cuts import is_cut_otherwise

FORMAT = 3
_READABLE = (1, 2, 3)
"""Up to format 2 a model did not tell what its errors mean on other layouts."""
SAME_LAYOUT = 0.55
"""Cosine of two first pages' words from which on they are of one layout."""
_USUAL, _USUAL_COUNT = 0.85, 4
"""For models up to format 2: the share usually read right, and the documents that it counts as."""
_CLIP = 0.001
_PRECISION = 4
_NEVER = -1e3
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error)
"""Errors raised when a file that is read is no model, or only part of one."""


@dataclass(frozen=True, slots=True)
class FieldExample:
    """The best candidates of a field of a document whose value is known.

    rows: the features of each. scores: without learned weights. right: of each, whether it is the value.
    is_known: the document has a value for the field. cuts: indices of those that are the best one without
    learning, but begin or end elsewhere. values: of each, a number that is equal for equal values. null: the
    score that the best one must exceed to be read. untaught: the belief in what is read by all means with
    nothing learned, and whether that is right; None if only the candidates are known.
    """

    rows: Rows
    scores: NDArray[np.float64]
    right: NDArray[np.bool_]
    is_known: bool = True
    cuts: frozenset[int] = frozenset()
    values: tuple[int, ...] = ()
    null: float = 0.0
    untaught: Outcome | None = None

    def best(self, weights: Weights) -> int:
        """Index of the best candidate under these weights; -1 if there are no candidates."""
        if not self.rows:
            return -1
        best = int((weights.scale * self.scores + weights.of(self.rows)).argmax())
        return best if weights.cuts or best not in self.cuts else int(self.scores.argmax())

    def is_read_right(self, weights: Weights) -> bool:
        """True if the candidate that these weights choose is the value, or what is read without weights."""
        if not weights.is_learned and self.untaught is not None:
            return self.untaught.came
        best = self.best(weights)
        return best >= 0 and bool(self.right[best])

    def share(self, weights: Weights) -> float:
        """The probability of the chosen value among its rivals; 0 if these weights choose none."""
        best = self.best(weights)
        scores = weights.scale * self.scores + weights.of(self.rows)
        if best < 0 or scores[best] <= self.null:
            return 0.0
        values = self.values or range(len(scores))
        highest: dict[int, float] = {}
        for value, score in zip(values, scores.tolist(), strict=True):
            highest[value] = max(score, highest.get(value, score))
        return probabilities([highest.pop(values[best]), *highest.values()], null=self.null)[0]

    def belief_alone(self, weights: Weights) -> float:
        """The belief with nothing learned in what these weights choose; 0 if that is another value."""
        if self.untaught is None or (weights.is_learned and self.best(weights) != self.best(Weights.none())):
            return 0.0
        return self.untaught.probability

    def content(self) -> dict[str, Any]:
        """As JSON."""
        flat = np.concatenate(self.rows) if self.rows else np.zeros(0, np.int32)
        return {
            "rows": base64.b64encode(zlib.compress(flat.astype("<i4").tobytes())).decode(),
            "lengths": [len(row) for row in self.rows],
            "scores": [round(score, _PRECISION) for score in self.scores.tolist()],
            "right": np.flatnonzero(self.right).tolist(),
            "is_known": self.is_known,
            "cuts": sorted(self.cuts),
            "values": self.values,
            "null": self.null,
            "untaught": self.untaught and (self.untaught.probability, self.untaught.came),
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "FieldExample":
        """From JSON."""
        flat = np.frombuffer(zlib.decompress(base64.b64decode(content["rows"])), "<i4").astype(np.int32)
        right = np.zeros(len(content["lengths"]), np.bool_)
        right[content["right"]] = True
        return cls(
            np.split(flat, np.cumsum(content["lengths"])[:-1]) if content["lengths"] else [],
            np.array(content["scores"], np.float64),
            right,
            bool(content["is_known"]),
            frozenset(content.get("cuts", ())),
            tuple(content.get("values", ())),
            float(content.get("null", 0)),
            Outcome(*untaught) if (untaught := content.get("untaught")) else None,
        )


@dataclass(frozen=True, slots=True)
class Example:
    """A document whose values are known. words: see `layout_words`. fields: by path."""

    words: frozenset[str]
    fields: Mapping[str, FieldExample]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Counts of known values of a field, and of those read right on documents the weights were not fitted to.

    untaught: without weights. unseen: by weights fitted to documents of other layouts. corrected: fitted to
    three quarters of the documents, without it.
    """

    values: int
    untaught: int
    unseen: int
    corrected: int


Shifts = Mapping[str, float]
"""By path of a field: the change of the log-odds of the belief in its values."""


@dataclass(frozen=True, slots=True)
class SchemaModel:
    """Learned weights of the fields of one schema: for all layouts, and for each known layout.

    examples: all documents that it was learned from. held_out: by path, how well the field was read on them.
    shifts: what that means for the belief in values on other layouts; layout_shifts: on each known one.
    """

    schema: str
    general: Mapping[str, Weights] = field(default_factory=dict[str, Weights])
    layouts: tuple[LayoutWeights, ...] = ()
    examples: tuple[Example, ...] = ()
    held_out: Mapping[str, HeldOut] = field(default_factory=dict[str, HeldOut])
    shifts: Shifts = field(default_factory=dict[str, float])
    layout_shifts: tuple[Shifts, ...] = ()

    def on_page(self, words: frozenset[str]) -> "PageModel":
        """The learned weights and shifts for a page with these words."""
        likeness = [layout_likeness(words, layout.pages) for layout in self.layouts]
        best = int(np.argmax(likeness)) if likeness else -1
        if best < 0 or likeness[best] < SAME_LAYOUT:
            return PageModel(self.general, None, self.shifts)
        layout = self.layouts[best]
        shifts = self.layout_shifts[best] if best < len(self.layout_shifts) else self.shifts
        return PageModel({**self.general, **layout.weights}, layout, shifts)

    def on(self, document: Document) -> "PageModel":
        """The learned weights and shifts for this document, by its first page."""
        return self.on_page(layout_words(document) if self.layouts else frozenset())

    def without_examples(self) -> "SchemaModel":
        """The model without the documents that it was learned from, so that it can be passed on."""
        return replace(self, examples=())


@dataclass(frozen=True, slots=True)
class PageModel:
    """The part of a model that applies to one page.

    weights: of each field, those of the page's layout before the general. layout: None if it is not known.
    shifts: of the log-odds of the belief in each field's values on this page.
    """

    weights: Mapping[str, Weights]
    layout: LayoutWeights | None
    shifts: Shifts

    def belief(self, path: str, share: float, *, alone: float) -> float:
        """The belief in a value that was chosen with the weights of its field, if that has some.

        share: its probability among its rivals, with learned weights. alone: the belief in it without them.
        Weights of a layout that were fitted to few documents are small, so shares are too modest: 1 / n is
        added to their log-odds for n documents (bench/results/trust.md).
        """
        if path not in self.weights:
            return alone
        if self.layout is not None and path in self.layout.weights:
            return shift_probability(share, 1 / len(self.layout.pages), clip=_CLIP)
        return max(share, alone)

    def judged(self, path: str, belief: float, *, is_choice: bool) -> float:
        """The belief in a value, with what was read of its field on the documents that were held out.

        It falls where values were wrong more often than was believed: on the layout of the page if that is
        known, and else on layouts that were not seen. Where they were right more often, it rises only for a
        field of a few known words, which are hardly misread.
        """
        shift = self.shifts.get(path, 0.0)
        shift = shift if is_choice else min(shift, 0.0)
        return shift_probability(belief, shift, clip=_CLIP) if shift else belief

    def rescored(self, fields: Mapping[str, Scored], page_count: int) -> dict[str, Scored]:
        """The fields with what was learned in their scores."""
        return {
            path: apply_weights(field, self.weights[path], best_features(field, page_count))
            if path in self.weights
            else field
            for path, field in fields.items()
        }


def apply_weights(field: Scored, weights: Weights, features: CandidateFeatures) -> Scored:
    """The field with learned scores of its best candidates; all other candidates are left out."""
    scores = np.full(len(field.candidates), _NEVER)
    scores[features.indices] = weights.scale * field.scores[features.indices] + weights.of(features.rows)
    if not weights.cuts and len(scores):
        # If the new winner differs from the one with nothing learned only in its cut, keep the old cut.
        best, before = int(scores.argmax()), int(field.scores.argmax())
        key = field.candidates[best].key
        if is_cut_otherwise(key, field.candidates[before].key):
            ahead = scores[best] - scores[before]
            scores[[candidate.key == key for candidate in field.candidates]] -= ahead
            scores[before] += ahead
    return replace(field, scores=scores, is_taught=True)


def layout_likeness(words: frozenset[str], pages: Sequence[frozenset[str]]) -> float:
    """The cosine of these words and those of the nearest page, in [0, 1]."""
    return max(
        (len(words & page) / (len(words) * len(page)) ** 0.5 if words and page else 0.0 for page in pages),
        default=0.0,
    )


def model_in(path: Path) -> str:
    """The model of a file as text, without its examples. Raises MisconfiguredError if it holds none."""
    try:
        return dumps(loads(path.read_text(encoding="utf-8")).without_examples())
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read the model {str(path)!r}") from error


def dumps(model: SchemaModel) -> str:
    """The model as JSON."""
    return json.dumps(
        {
            "format": FORMAT,
            "schema": model.schema,
            "general": {path: weights.content() for path, weights in model.general.items()},
            "layouts": [layout.content() for layout in model.layouts],
            "held_out": {path: astuple(counts) for path, counts in model.held_out.items()},
            "shifts": dict(model.shifts),
            "layout_shifts": [dict(shifts) for shifts in model.layout_shifts],
            "taught": [
                {
                    "words": sorted(example.words),
                    "lessons": {path: field.content() for path, field in example.fields.items()},
                }
                for example in model.examples
            ],
        },
        separators=(",", ":"),
    )


@lru_cache(maxsize=4)
def loads(text: str) -> SchemaModel:
    """The model of `dumps`. Raises MisconfiguredError if it is none."""
    try:
        content = json.loads(text)
        if content["format"] not in _READABLE:
            raise MisconfiguredError(f"the model has format {content['format']}; this docmill reads {FORMAT}")
        held_out = {path: HeldOut(*counts) for path, counts in content.get("held_out", {}).items()}
        is_old = content["format"] < FORMAT
        return SchemaModel(
            content["schema"],
            {path: Weights.of_content(weights) for path, weights in content["general"].items()},
            tuple(map(LayoutWeights.of_content, content["layouts"])),
            tuple(
                Example(
                    frozenset(example["words"]),
                    {path: FieldExample.of_content(field) for path, field in example["lessons"].items()},
                )
                for example in content["taught"]
            ),
            held_out,
            {path: _shift_of_counts(counts) for path, counts in held_out.items()}
            if is_old
            else _shifts_of(content["shifts"]),
            tuple(map(_shifts_of, content.get("layout_shifts", ()))),
        )
    except _BROKEN as error:
        raise MisconfiguredError("this is no model that docmill learned") from error


def _shifts_of(content: Mapping[str, Any]) -> Shifts:
    return {path: float(shift) for path, shift in content.items()}


def _shift_of_counts(counts: HeldOut) -> float:
    """The shift for a model up to format 2, of whose errors only the counts are known."""
    right = (counts.unseen + _USUAL_COUNT * _USUAL) / (counts.values + _USUAL_COUNT)
    return log_odds(right, clip=_CLIP) - log_odds(_USUAL, clip=_CLIP)
