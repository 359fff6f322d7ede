"""The receipts' model: its training on labelled receipts, and cross-validation by vendor.

What a later stage learns from is the output of an earlier one for documents it has not seen: each stage is
trained several times, each time without some vendors, and applied to these.
"""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import partial
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from docmill.model.document import Document, letters_and_digits
from docmill.training.scorers import assign_folds, group_weights, train_ngrams, train_trees
from docmill.understanding.constraints.address_features import FIRM_WORDS, REGIONS, STREET_WORDS
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.fields.analysis_cache import remember
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Findings
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.page_model.model import PageModel
from docmill.understanding.page_model.seen import page_readings, read_pages
from docmill.understanding.receipts.amounts import Amounts, amounts
from docmill.understanding.receipts.extractor import TYPE, learned_findings
from docmill.understanding.receipts.field_places import FORMS, FieldPlaces, field_places
from docmill.understanding.receipts.head import TAGS, Head, head
from docmill.understanding.receipts.model import FIELDS, LEARNED, TOTAL, ReceiptModel, context_scores
from docmill.understanding.receipts.scorers import CharNgramModel, Trees
from docmill.understanding.receipts.spans import ROLES, Choices, Field, enumerate_spans, pruning_mask
from docmill.understanding.receipts.word_correction import WordCorrector
from docmill.understanding.text.dates import find_dates

FOLDS = 5
_INNER_FOLDS = 3
_LEAST_LINES = 75
"""Likeness, in percent, from which lines are taken for the labelled ones though letters differ."""
_LEAST_SPAN = 82
_EXACT = 101.0
_LENGTH = 0.35
"""Share by which the lengths of span and label may differ."""
_WORD = re.compile(r"[A-Z]{4,}")
_TIME = re.compile(r"\d\d:\d\d(:\d\d)?")
_MADE_UP = 0.3
"""Weight of a made-up receipt beside a real one."""
_SEVERAL = 2
"""Vendors that must have a word for misread ones to be put right to it."""
_Rows = TypeVar("_Rows")
_Stage = TypeVar("_Stage")
_Output = TypeVar("_Output")


@dataclass(frozen=True)
class LabelledReceipt:
    """A labelled receipt.

    key: the same for two readings of one receipt. truth: by path, as labelled; "" where the paper has no such
    value, absent where nobody has said. made_up: by `docmill.training.generated_receipts`.
    """

    key: str
    vendor: str
    document: Document
    truth: Mapping[str, str]
    made_up: bool = False


@dataclass(frozen=True)
class Prepared:
    """A labelled receipt with all that does not depend on what is learned."""

    example: LabelledReceipt
    candidates: Candidates
    head: Head
    tags: NDArray[np.int64]
    choices: Mapping[Field, Choices]
    right: Mapping[Field, NDArray[np.int64]]
    amounts: Amounts
    total: NDArray[np.int64]
    places: Mapping[str, FieldPlaces]
    right_places: Mapping[str, NDArray[np.int64]]
    weight: float = 1.0

    def lacks(self, path: str) -> bool:
        """True if the paper is known to have no such value: whatever is read there is wrong."""
        return self.example.truth.get(path) == ""


def prepare(example: LabelledReceipt, page_model: PageModel | None = None) -> Prepared:
    """Compute what does not depend on training: candidates, their features, and the labels as classes.

    The right spans are those most like the label; none where none is near.
    page_model: one that was trained without the receipt's vendor; without it the shipped one.
    """
    layout = Layout(example.document)
    candidates = Candidates(layout, conventions(layout))
    if page_model is not None:
        remember(candidates, page_readings, read_pages(candidates, page_model))
    ruled = ruled_findings(candidates, TYPE)
    lines = head(candidates)
    choices: dict[Field, Choices] = {field: enumerate_spans(lines, field) for field in FIELDS}
    tags = np.zeros(len(lines.segments), np.int64)
    right: dict[Field, NDArray[np.int64]] = {}
    for tag, field in enumerate(FIELDS, 1):
        likenesses = _likenesses(choices[field], example.truth.get(ROLES[field], ""))
        most = likenesses.max(initial=0)
        right[field] = ((likenesses >= most - 1e-9) & (most >= _LEAST_SPAN)).astype(np.int64)
        if most >= _LEAST_LINES:
            best = choices[field].choices[int(likenesses.argmax())]
            tags[best.first : best.stop] = tag
    sums = amounts(candidates, ruled)
    total = _labelled_amount(example.truth.get(TOTAL, ""))
    values = np.array([value == total for value in sums.values], np.int64)
    places = {path: field_places(candidates, path, ruled) for path in FORMS}
    right_places = {
        path: np.array([bool(label) and is_right(value, label) for value in found.values], np.int64)
        for path, found in places.items()
        for label in [example.truth.get(path, "")]
    }
    return Prepared(example, candidates, lines, tags, choices, right, sums, values, places, right_places)


def _likenesses(choices: Choices, label: str) -> NDArray[np.float64]:
    """The likeness of each span to the label: 101 for the same letters and digits, else 0 to 100."""
    wanted = letters_and_digits(label)
    likenesses = np.zeros(len(choices.choices))
    slack = _LENGTH * max(4, len(wanted))
    for index in range(len(choices.choices) if wanted else 0):
        text = letters_and_digits(choices.text(index))
        if text == wanted:
            likenesses[index] = _EXACT
        elif abs(len(text) - len(wanted)) <= slack:
            likenesses[index] = fuzz.ratio(text, wanted)
    return likenesses


def _labelled_amount(text: str) -> Decimal | None:
    match = re.search(r"-?\d[\d,]*(?:\.\d+)?", text.replace(" ", ""))
    try:
        return Decimal(match[0].replace(",", "")).quantize(Decimal("0.01")) if match else None
    except InvalidOperation:
        return None


def weigh(documents: Sequence[Prepared]) -> list[Prepared]:
    """Set the weights of the documents, by the sellers' names on their labels; made-up ones count less."""
    names = [
        document.example.key
        if document.example.made_up
        else letters_and_digits(document.example.truth.get(ROLES["name"], ""))
        for document in documents
    ]
    return [
        replace(document, weight=weight * (_MADE_UP if document.example.made_up else 1))
        for document, weight in zip(documents, group_weights(names), strict=True)
    ]


def train_model(documents: Sequence[Prepared], *, seed: int = 1) -> ReceiptModel:
    """Train the model. The same documents in the same order give the same model."""
    inner = assign_folds(
        {document.example.key: document.example.vendor for document in documents}, _INNER_FOLDS, seed=seed
    )
    parts = [inner[document.example.key] for document in documents]
    letters, tagger, tags = _train_line_tagger(documents, parts)
    contexts, context_outputs = _cross_train(
        [_context_samples(document) for document in documents],
        parts,
        partial(_train_texts, classes=2),
        lambda model, index: context_scores(model, documents[index].amounts),
    )
    totals = [
        _Samples(document.amounts.rows(output), document.total, document.weight)
        for document, output in zip(documents, context_outputs, strict=True)
        if document.total.any() or (document.lacks(TOTAL) and document.amounts.values)
    ]
    return ReceiptModel(
        letters=letters,
        tagger=tagger,
        contexts=contexts,
        spans={field: _train_spans(documents, tags, field) for field in FIELDS},
        totals=train_trees(*_stack(totals), rounds=200, learning_rate=0.04, features=0.3, leaves=7),
        places={path: _train_places(documents, path) for path in FORMS},
        corrector=_word_corrector(documents),
    )


def _train_line_tagger(
    documents: Sequence[Prepared], parts: Sequence[int]
) -> tuple[CharNgramModel, Trees, list[NDArray[np.float64]]]:
    """Train the scorer of spellings and the tagger of lines; their models, and the tags of each document."""
    letters, spellings = _cross_train(
        [_Samples(document.head.texts, document.tags, document.weight) for document in documents],
        parts,
        partial(_train_texts, classes=len(TAGS)),
        lambda model, index: model.scores(documents[index].head.texts),
    )
    lines = [
        _Samples(document.head.rows(spelling), document.tags, document.weight)
        for document, spelling in zip(documents, spellings, strict=True)
    ]
    tagger, tags = _cross_train(
        lines,
        parts,
        lambda samples: train_trees(
            *_stack(samples), rounds=110, classes=len(TAGS), learning_rate=0.08, features=0.3
        ),
        lambda model, index: model.probabilities(lines[index].rows),
    )
    return letters, tagger, tags


class _Samples(NamedTuple, Generic[_Rows]):
    """The training samples of a stage from one document: texts or rows, the class of each, and a weight."""

    rows: _Rows
    truth: NDArray[np.int64]
    weight: float


def _cross_train(
    samples: Sequence[_Samples[_Rows]],
    parts: Sequence[int],
    train: Callable[[Sequence[_Samples[_Rows]]], _Stage],
    apply: Callable[[_Stage, int], _Output],
) -> tuple[_Stage, list[_Output]]:
    """A stage trained on all, and for each document the output of one that was trained without its vendor.

    apply: a stage to the document of this index.
    """
    outputs: dict[int, _Output] = {}
    for part in sorted(set(parts)):
        stage = train([sample for sample, other in zip(samples, parts, strict=True) if other != part])
        outputs |= {index: apply(stage, index) for index, other in enumerate(parts) if other == part}
    return train(samples), [outputs[index] for index in range(len(samples))]


def _context_samples(document: Prepared) -> _Samples[list[str]]:
    """The texts around each amount; all around the labelled total are of the class 1."""
    contexts, total = document.amounts.contexts, document.total.tolist()
    pairs = [(text, right) for around, right in zip(contexts, total, strict=True) for text in around]
    truth = np.array([right for _, right in pairs], np.int64)
    return _Samples([text for text, _ in pairs], truth, document.weight)


def _train_texts(samples: Sequence[_Samples[list[str]]], *, classes: int) -> CharNgramModel:
    texts = [text for sample in samples for text in sample.rows]
    return train_ngrams(texts, *_labels(samples), classes=classes)


def _train_spans(documents: Sequence[Prepared], tags: Sequence[NDArray[np.float64]], field: Field) -> Trees:
    """The ranking of the spans that are likely by the tags of their lines."""
    samples: list[_Samples[NDArray[np.float32]]] = []
    for document, tag_shares in zip(documents, tags, strict=True):
        choices, right = document.choices[field], document.right[field]
        if right.any() or document.lacks(ROLES[field]):
            keep = pruning_mask(choices, tag_shares)
            samples.append(_Samples(choices.rows(tag_shares)[keep], right[keep], document.weight))
    return train_trees(*_stack(samples), rounds=400, learning_rate=0.04, features=0.25, leaves=8)


def _train_places(documents: Sequence[Prepared], path: str) -> Trees:
    """The scorer of the places of a field."""
    samples = [
        _Samples(document.places[path].rows, document.right_places[path], document.weight)
        for document in documents
        if document.right_places[path].any() or (document.lacks(path) and len(document.right_places[path]))
    ]
    return train_trees(*_stack(samples), rounds=200, features=0.4)


def _stack(
    samples: Sequence[_Samples[NDArray[np.float32]]],
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]:
    return np.vstack([sample.rows for sample in samples]), *_labels(samples)


def _labels(samples: Sequence[_Samples[_Rows]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The classes and weights of all samples."""
    lengths = [len(sample.truth) for sample in samples]
    weights = np.repeat([sample.weight for sample in samples], lengths)
    return np.concatenate([sample.truth for sample in samples]), weights


def _word_corrector(documents: Sequence[Prepared]) -> WordCorrector:
    """Words of several vendors' names and addresses, which misread ones are put right to."""
    owners: dict[str, set[str]] = {}
    for document in documents:
        for field in () if document.example.made_up else FIELDS:
            for word in _WORD.findall(document.example.truth.get(ROLES[field], "").upper()):
                owners.setdefault(word, set()).add(document.example.vendor)
    words = {word for word, vendors in owners.items() if len(vendors) >= _SEVERAL}
    known = {word.upper() for word in (*FIRM_WORDS, *STREET_WORDS)}
    known |= {word.upper() for region in REGIONS for word in region.split()}
    return WordCorrector(frozenset(words), frozenset(owners) | known)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The findings on a receipt by a model trained without its group. right: by path, where labelled."""

    document: Prepared
    fold: int
    findings: Findings
    right: Mapping[str, bool]


def fold_of(group: str) -> int:
    """The fold of a group of receipts, the same in every run and for every reading of a receipt."""
    return zlib.crc32(group.encode()) % FOLDS


def train_fold(
    documents: Sequence[Prepared],
    fold: int,
    *,
    group: Callable[[Prepared], str] = attrgetter("example.vendor"),
) -> ReceiptModel:
    """Train a model without the groups of a fold. group: see `cross_validate`."""
    return train_model([document for document in documents if fold_of(group(document)) != fold])


def cross_validate(
    documents: Sequence[Prepared],
    *,
    group: Callable[[Prepared], str] = attrgetter("example.vendor"),
    models: Sequence[ReceiptModel] = (),
) -> list[HeldOut]:
    """Answer for each receipt by a model that was trained without its group.

    group: receipts of one group are held out together; two readings of one receipt always are. models: those
    of `train_fold`, if they were trained before.
    """
    results: list[HeldOut] = []
    for fold in range(FOLDS):
        model = models[fold] if models else train_fold(documents, fold, group=group)
        for document in documents:
            if fold_of(group(document)) == fold:
                found = learned_findings(document.candidates, model)
                truth = document.example.truth
                right = {
                    path: is_right(found[path].value, truth[path])
                    for path in LEARNED
                    if path in found and truth.get(path)
                }
                results.append(HeldOut(document, fold, found, right))
    return results


def is_right(value: date | Decimal | str, label: str) -> bool:
    """True if a value is the label: text by letters and digits, dates, amounts and times of day as such."""
    if isinstance(value, Decimal):
        return value == _labelled_amount(label)
    if isinstance(value, date):
        return any(written.value(day_first=True) == value for written in find_dates(label))
    if _TIME.fullmatch(label) and _TIME.fullmatch(value):
        return value[:5] == label[:5]
    return letters_and_digits(value) == letters_and_digits(label)
