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
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.log_odds import log_odds, shift_probability
from docmill.understanding.text.cuts import is_cut_otherwise

FORMAT = 2
_READABLE = (1, 2)
"""Format 1 also held a number for each candidate's value, which nobody read."""
SAME_LAYOUT = 0.55
"""Cosine of two first pages' words from which on they are of one layout."""
_USUAL, _USUAL_COUNT = 0.85, 4
"""The share of the values of users' fields that is usually read right, and the documents it counts as."""
_UNRELIABLE = 0.7
"""A share of a field's values read right below which none of them is believed more than it."""
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
    learning, but begin or end elsewhere.
    """

    rows: Rows
    scores: NDArray[np.float64]
    right: NDArray[np.bool_]
    is_known: bool = True
    cuts: frozenset[int] = frozenset()

    def best(self, weights: Weights) -> int:
        """Index of the best candidate under these weights; -1 if there are no candidates."""
        if not self.rows:
            return -1
        best = int((weights.scale * self.scores + weights.of(self.rows)).argmax())
        return best if weights.cuts or best not in self.cuts else int(self.scores.argmax())

    def is_read_right(self, weights: Weights) -> bool:
        """True if the candidate that these weights choose is the value."""
        best = self.best(weights)
        return best >= 0 and bool(self.right[best])

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

    def share(self, *, is_known_layout: bool) -> float:
        """The share that was read right, drawn towards the usual one where documents are few."""
        right = self.corrected if is_known_layout else self.unseen
        return (right + _USUAL_COUNT * _USUAL) / (self.values + _USUAL_COUNT)


@dataclass(frozen=True, slots=True)
class SchemaModel:
    """Learned weights of the fields of one schema: for all layouts, and for each known layout.

    examples: all documents that it was learned from. held_out: by path, how well the field was read on them.
    """

    schema: str
    general: Mapping[str, Weights] = field(default_factory=dict[str, Weights])
    layouts: tuple[LayoutWeights, ...] = ()
    examples: tuple[Example, ...] = ()
    held_out: Mapping[str, HeldOut] = field(default_factory=dict[str, HeldOut])

    def weights_for(self, words: frozenset[str]) -> dict[str, Weights]:
        """The weights of each field on a page with these words: those of its layout before the general."""
        layout = self._layout_of(words)
        return {**self.general, **(layout.weights if layout else {})}

    def _layout_of(self, words: frozenset[str]) -> LayoutWeights | None:
        """The known layout of a page with these words."""
        likeness = [layout_likeness(words, layout.pages) for layout in self.layouts]
        best = int(np.argmax(likeness)) if likeness else -1
        return self.layouts[best] if best >= 0 and likeness[best] >= SAME_LAYOUT else None

    def belief(self, path: str, share: float, alone: float, document: Document, *, is_choice: bool) -> float:
        """The belief in a value of this field, with what was learned of it.

        share: its probability among its rivals, with learned weights. alone: the belief in it without them.
        Weights of a layout that were fitted to few documents are small, so shares are too modest: 1 / n is
        added to their log-odds for n documents (bench/results/trust.md). What was read wrongly on the
        documents that were held out lowers the odds, by as much as those of its share are lower than usual;
        a share that is much lower is a ceiling. One of a few known words, which is hardly misread, is as
        likely as that share.
        """
        layout = self._layout_of(layout_words(document))
        belief = max(share, alone)
        if layout is not None and path in layout.weights:
            belief = shift_probability(share, 1 / len(layout.pages), clip=_CLIP)
        held_out = self.held_out.get(path)
        if held_out is None:
            return belief
        right = held_out.share(is_known_layout=layout is not None)
        if is_choice:
            return max(belief, right) if right >= _USUAL else right
        if right < _UNRELIABLE:
            return min(belief, right)
        shortfall = log_odds(right, clip=_CLIP) - log_odds(_USUAL, clip=_CLIP)
        return min(belief, shift_probability(belief, shortfall, clip=_CLIP))

    def rescored(self, fields: Mapping[str, Scored], document: Document) -> dict[str, Scored]:
        """The fields with what was learned in their scores."""
        weights = self.weights_for(layout_words(document) if self.layouts else frozenset())
        count = len(document.pages)
        return {
            path: apply_weights(field, weights[path], best_features(field, count))
            if path in weights
            else field
            for path, field in fields.items()
        }

    def without_examples(self) -> "SchemaModel":
        """The model without the documents that it was learned from, so that it can be passed on."""
        return replace(self, examples=())


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
            {path: HeldOut(*counts) for path, counts in content.get("held_out", {}).items()},
        )
    except _BROKEN as error:
        raise MisconfiguredError("this is no model that docmill learned") from error
