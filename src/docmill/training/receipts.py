"""The receipts' model, trained on labelled receipts.

What a later stage learns from is what an earlier one says of documents it has not seen: each stage is
trained several times, each time without some vendors, to be asked about these.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from docmill.model.document import Document, letters_and_digits
from docmill.training.folds import folds, shares
from docmill.training.scorers import boosted, spelled
from docmill.understanding.constraints.address_features import FIRM_WORDS, REGIONS, STREET_WORDS
from docmill.understanding.constraints.extractor import ruled_findings
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.receipts.amounts import Amounts, amounts
from docmill.understanding.receipts.extractor import TYPE
from docmill.understanding.receipts.head import TAGS, Head, head
from docmill.understanding.receipts.model import FIELDS, PATHS, ReceiptModel, context_scores
from docmill.understanding.receipts.scorers import CharNgramModel, Trees
from docmill.understanding.receipts.spans import Choices, Field, enumerate_spans, pruning_mask
from docmill.understanding.receipts.word_correction import WordCorrector

_LEAST_LINES = 75
"""Likeness, in percent, from which lines are taken for the labelled ones though letters differ."""
_LEAST_SPAN = 82
_EXACT = 101.0
_LENGTH = 0.35
"""Share by which the lengths of span and label may differ."""


def likeness(choices: Choices, label: str) -> NDArray[np.float64]:
    """The likeness of each span to the label: 101 for the same letters and digits, else 0 to 100."""
    wanted = letters_and_digits(label)
    found = np.zeros(len(choices.choices))
    if not wanted:
        return found
    slack = _LENGTH * max(4, len(wanted))
    for index in range(len(choices.choices)):
        text = letters_and_digits(choices.text(index))
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


_INNER = 3
_WORD = re.compile(r"[A-Z]{4,}")
_COMMON = 0.1
"""Share of the receipts in a currency from which on its like are known."""
_SEVERAL = 2
"""Vendors that must have a word for misread ones to be put right to it."""
_Stage = TypeVar("_Stage")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class LabelledReceipt:
    """A labelled receipt. key: the same for two readings of one receipt; truth: by path, as labelled."""

    key: str
    vendor: str
    document: Document
    truth: Mapping[str, str]


@dataclass(frozen=True)
class Prepared:
    """A labelled receipt with all that does not depend on what is learned."""

    example: LabelledReceipt
    candidates: Candidates
    ruled: Mapping[str, Finding]
    head: Head
    tags: NDArray[np.int64]
    choices: Mapping[Field, Choices]
    right: Mapping[Field, NDArray[np.int64]]
    amounts: Amounts
    total: NDArray[np.int64]
    weight: float = 1.0


def prepared(example: LabelledReceipt) -> Prepared:
    """An example that has pages."""
    layout = Layout(example.document)
    candidates = Candidates(layout, conventions(layout))
    return assembled(example, candidates, ruled_findings(candidates, TYPE))


def assembled(example: LabelledReceipt, candidates: Candidates, ruled: Mapping[str, Finding]) -> Prepared:
    """The same, from the candidates and what the rules chose of them."""
    found = head(candidates)
    choices: dict[Field, Choices] = {field: enumerate_spans(found, field) for field in FIELDS}
    tags = np.zeros(len(found.segments), np.int64)
    right: dict[Field, NDArray[np.int64]] = {}
    for tag, field in enumerate(FIELDS, 1):
        alike = likeness(choices[field], example.truth.get(PATHS[field], ""))
        right[field] = right_spans(alike)
        lines = best_lines(choices[field], alike)
        if lines:
            tags[lines[0] : lines[1]] = tag
    sums = amounts(candidates, ruled)
    total = amount(example.truth.get(PATHS["total"], ""))
    values = np.array([value == total for value in sums.values], np.int64)
    return Prepared(example, candidates, ruled, found, tags, choices, right, sums, values)


def trained(documents: Sequence[Prepared], *, seed: int = 1) -> ReceiptModel:
    """The model. The same documents in the same order give the same model."""
    inner = folds({one.example.key: one.example.vendor for one in documents}, _INNER, seed=seed)
    parts = [inner[one.example.key] for one in documents]
    letters, spellings = _crossed(documents, parts, _letters, lambda model, one: model.scores(one.head.texts))
    contexts, words = _crossed(
        documents, parts, _contexts, lambda model, one: context_scores(model, one.amounts)
    )
    rows = [one.head.rows(spelling) for one, spelling in zip(documents, spellings, strict=True)]
    index = {id(one): at for at, one in enumerate(documents)}
    currencies = Counter(one.candidates.conventions.currency or "" for one in documents)

    def tagger_of(some: Sequence[Prepared]) -> Trees:
        return _tagger(some, [rows[index[id(one)]] for one in some])

    tagger, tags = _crossed(
        documents, parts, tagger_of, lambda model, one: model.probabilities(rows[index[id(one)]])
    )
    return ReceiptModel(
        letters=letters,
        tagger=tagger,
        contexts=contexts,
        spans={field: _spans(documents, tags, field) for field in FIELDS},
        totals=_totals(documents, words),
        corrector=word_corrector(documents),
        calibrations={},
        currencies=frozenset(
            currency for currency, count in currencies.items() if count >= _COMMON * len(documents)
        ),
    )


def _crossed(
    documents: Sequence[Prepared],
    parts: Sequence[int],
    train: Callable[[Sequence[Prepared]], _Stage],
    ask: Callable[[_Stage, Prepared], _Answer],
) -> tuple[_Stage, list[_Answer]]:
    """A stage trained on all, and for each document what one says that was trained without its vendor."""
    answers: dict[int, _Answer] = {}
    for part in sorted(set(parts)):
        without = train([one for one, own in zip(documents, parts, strict=True) if own != part])
        for at, own in enumerate(parts):
            if own == part:
                answers[at] = ask(without, documents[at])
    return train(documents), [answers[at] for at in range(len(documents))]


def _letters(documents: Sequence[Prepared]) -> CharNgramModel:
    texts = [text for one in documents for text in one.head.texts]
    truth = np.concatenate([one.tags for one in documents])
    return spelled(
        texts, truth, _repeated(documents, [len(one.tags) for one in documents]), classes=len(TAGS)
    )


def _contexts(documents: Sequence[Prepared]) -> CharNgramModel:
    texts: list[str] = []
    truth: list[int] = []
    weights: list[float] = []
    for one in documents:
        for around, right in zip(one.amounts.contexts, one.total.tolist(), strict=True):
            texts.extend(around)
            truth.extend([right] * len(around))
            weights.extend([one.weight] * len(around))
    return spelled(texts, np.array(truth), np.array(weights), classes=2)


def _tagger(documents: Sequence[Prepared], rows: Sequence[NDArray[np.float32]]) -> Trees:
    truth = np.concatenate([one.tags for one in documents])
    weights = _repeated(documents, [len(one.tags) for one in documents])
    return boosted(np.vstack(rows), truth, weights, rounds=110, classes=len(TAGS), pace=0.08, features=0.3)


def _spans(documents: Sequence[Prepared], tags: Sequence[NDArray[np.float64]], field: Field) -> Trees:
    rows: list[NDArray[np.float32]] = []
    truth: list[NDArray[np.int64]] = []
    used: list[Prepared] = []
    for one, shares_ in zip(documents, tags, strict=True):
        choices = one.choices[field]
        if not one.right[field].any():
            continue
        keep = pruning_mask(choices, shares_)
        rows.append(choices.rows(shares_)[keep])
        truth.append(one.right[field][keep])
        used.append(one)
    weights = _repeated(used, [len(labels) for labels in truth])
    rounds, pace, leaves = 400, 0.04, 8
    return boosted(
        np.vstack(rows),
        np.concatenate(truth),
        weights,
        rounds=rounds,
        pace=pace,
        features=0.25,
        leaves=leaves,
    )


def _totals(documents: Sequence[Prepared], words: Sequence[NDArray[np.float32]]) -> Trees:
    used = [(one, spoken_) for one, spoken_ in zip(documents, words, strict=True) if one.total.any()]
    rows = np.vstack([one.amounts.rows(spoken_) for one, spoken_ in used])
    truth = np.concatenate([one.total for one, _ in used])
    weights = _repeated([one for one, _ in used], [len(one.total) for one, _ in used])
    return boosted(rows, truth, weights, rounds=200, pace=0.04, features=0.3, leaves=7)


def _repeated(documents: Sequence[Prepared], counts: Sequence[int]) -> NDArray[np.float64]:
    return np.repeat([one.weight for one in documents], counts)


def word_corrector(documents: Sequence[Prepared]) -> WordCorrector:
    """Words of several vendors' names and addresses, which misread ones are put right to."""
    owners: dict[str, set[str]] = {}
    for one in documents:
        for field in FIELDS:
            for word in _WORD.findall(one.example.truth.get(PATHS[field], "").upper()):
                owners.setdefault(word, set()).add(one.example.vendor)
    words = {word for word, vendors in owners.items() if len(vendors) >= _SEVERAL}
    known = {word.upper() for word in (*FIRM_WORDS, *STREET_WORDS)}
    known |= {word.upper() for region in REGIONS for word in region.split()}
    return WordCorrector(frozenset(words), frozenset(owners) | known)


def weighed(documents: Sequence[Prepared]) -> list[Prepared]:
    """The documents with their weights, by the sellers' names on their labels."""
    names = [letters_and_digits(one.example.truth.get(PATHS["name"], "")) for one in documents]
    return [replace(one, weight=share) for one, share in zip(documents, shares(names), strict=True)]
