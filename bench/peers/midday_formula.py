"""Links invoices, credit notes and receipts with payments by the published formula of Midday.

Written anew from the formula of its inbox matching: midday-ai/midday, packages/db/src/queries and
packages/db/src/utils, transaction-matching.ts (e6db84a5 and 8cba741d, the version with embeddings).
Candidates come in three tiers by amount, day and embedding; scores are those of embedding (weight .5),
amount (.35), currency (.1) and date (.05), or .25, .45, .15, .15 where amount and currency are equal; then
floors, bonuses and penalties. Each document gets its best payment, each payment one document; suggested from
.75, automatic from .9.

In its favour: every pair of companies counts as proven by earlier confirmations (otherwise it takes nothing
automatically), the name of the other side is known, and the surest pairs choose first, not the first comers.
Not as there: the embeddings are docmill's own word vectors of names and purposes, since theirs come from a
paid service; there are no exchange rates.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.data.link_records import RELATIONS, PlainRecord, plain_records
from bench.peers.exact_references import clusters_of
from docmill.matching.outcome import Link, Matching
from docmill.training.linked_documents.truth import GeneratedDocument
from docmill.understanding.meaning.word_vectors import WordVectors

SUGGESTED, AUTOMATIC = 0.75, 0.9
_PAPERS = ("invoice", "credit_note", "receipt")
_WEAK, _GOOD, _STRONG = 0.6, 0.45, 0.35
"""Distances of embeddings below which the tiers begin."""
_AMOUNT_STEPS = (
    (0.0, 1.0), (0.01, 0.98), (0.02, 0.95), (0.025, 0.92), (0.03, 0.9), (0.05, 0.85), (0.1, 0.6), (0.2, 0.3),
)  # fmt: skip
"""Relative differences of amounts and the score up to each."""
_INVOICE_DAYS = ((0, 6, 0.99), (24, 38, 0.98), (55, 68, 0.96), (10, 20, 0.95), (85, 98, 0.94), (3, 11, 0.93))
"""Days from an invoice to its payment, and the score of each range."""
_EXPENSE_DAYS = ((4, 0.99), (10, 0.95), (33, 0.9), (63, 0.8), (93, 0.7))
_NEAR_DAYS = ((0, 1.0), (1, 0.95), (3, 0.85), (7, 0.75), (14, 0.6))


@dataclass(frozen=True, slots=True)
class _Scored:
    payment: PlainRecord
    confidence: float
    is_perfect: bool
    date_score: float

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Equal amounts come first, then near days, then confidence."""
        return self.is_perfect, self.date_score, self.confidence


def match(documents: Sequence[GeneratedDocument]) -> Matching:
    records = plain_records(documents)
    papers = [each for each in records if each.kind in _PAPERS and each.amount and each.day]
    payments = [each for each in records if each.kind == "payment" and each.amount and each.day]
    likeness = _likeness(papers, payments)
    columns = _columns(payments)
    pairs = [
        (paper, _score(paper, payments[place], float(likeness[index, place])))
        for index, paper in enumerate(papers)
        for place in np.flatnonzero(_candidates(paper, likeness[index], *columns)).tolist()
    ]
    pairs = [pair for pair in pairs if pair[1].confidence >= SUGGESTED]
    links: dict[str, Link] = {}
    taken: set[str] = set()
    for paper, best in sorted(pairs, key=lambda pair: pair[1].rank, reverse=True):
        if paper.id not in links and best.payment.id not in taken:
            taken.add(best.payment.id)
            state = "automatic" if best.confidence >= AUTOMATIC else "suggested"
            relation = RELATIONS[paper.kind, "payment"]
            links[paper.id] = Link(paper.id, best.payment.id, relation, best.confidence, state)
    found = tuple(links.values())
    return Matching(found, clusters_of(found), ())


def _likeness(papers: Sequence[PlainRecord], payments: Sequence[PlainRecord]) -> Any:
    """Cosines of the names of papers' other sides, in rows, with names and purposes of payments."""
    sides = Counter(name for each in papers for name in (each.seller, each.buyer)).most_common(1)
    own_name = sides[0][0] if sides else ""
    vectors = WordVectors()
    names = vectors.embed([each.buyer if each.seller == own_name else each.seller for each in papers])
    return names @ vectors.embed([f"{each.seller} {each.text}" for each in payments]).T


def _columns(payments: Sequence[PlainRecord]) -> tuple[Any, Any, Any]:
    amounts = np.array([float(each.amount or 0) for each in payments])
    days = np.array([each.day.toordinal() for each in payments if each.day], int)
    return amounts, days, np.array([each.currency for each in payments], "U3")


def _candidates(paper: PlainRecord, likeness: Any, amounts: Any, days: Any, currencies: Any) -> Any:
    """The payments of all tiers. Days: those of an invoice come later, those of a receipt earlier."""
    assert paper.day is not None
    distance = 1 - likeness
    amount = float(paper.amount or 0)
    difference = np.abs(amounts - amount)
    after = days - paper.day.toordinal()
    ranges = ((-93, 10), (-63, 17)) if paper.kind == "receipt" else ((-10, 123), (-17, 93))
    perfect, semantic = ((after >= first) & (after <= last) for first, last in ranges)
    conservative = (after >= -33) & (after <= 48)
    first = (difference < 0.01) & (currencies == paper.currency) & (distance < _WEAK) & perfect
    second = (difference < max(50, amount * 0.1)) & (distance < _STRONG) & semantic
    third = (difference < max(100, amount * 0.2)) & (distance < _GOOD) & conservative
    return first | second | third


def _score(paper: PlainRecord, payment: PlainRecord, likeness: float) -> _Scored:
    assert paper.day is not None
    assert payment.day is not None
    embedding = max(0.0, likeness)
    is_same_currency = paper.currency == payment.currency
    amounts = float(paper.amount or 0), float(payment.amount or 0)
    is_perfect = is_same_currency and abs(amounts[0] - amounts[1]) < 0.01
    amount = _amount_score(*amounts, is_same_currency=is_same_currency)
    currency = 1.0 if is_same_currency else 0.3
    date = _date_score(paper.day, payment.day, is_invoice=paper.kind != "receipt")
    weights = (0.25, 0.45, 0.15, 0.15) if is_perfect else (0.5, 0.35, 0.1, 0.05)
    scores = (embedding, amount, currency, date)
    confidence = sum(weight * score for weight, score in zip(weights, scores, strict=True))
    confidence = max(confidence, _floor(embedding, amount, date, is_perfect=is_perfect))
    if not is_same_currency:
        confidence *= 0.95 if embedding >= 0.85 else 0.9
    if date < 0.2:
        confidence *= 0.85
    confidence += 0.08 if embedding > 0.85 else 0.05 if embedding > 0.75 else 0
    return _Scored(payment, min(1.0, confidence), is_perfect, date)


def _floor(embedding: float, amount: float, date: float, *, is_perfect: bool) -> float:
    """The least confidence of pairs that are alike in several ways."""
    floors = (
        (is_perfect and embedding > 0.85 and date > 0.7, 0.96),
        (is_perfect and embedding > 0.6 and date > 0.5, 0.95),
        (is_perfect and embedding > 0.5 and date > 0.5, 0.93),
        (is_perfect and date > 0.5, 0.9),
        (is_perfect and embedding > 0.7 and date > 0.4, 0.88),
        (amount > 0.85 and embedding > 0.75 and date > 0.3, 0.82),
    )
    return max((floor for holds, floor in floors if holds), default=0.0)


def _amount_score(first: float, second: float, *, is_same_currency: bool) -> float:
    difference = abs(first - second) / max(first, second)
    score = next((score for limit, score in _AMOUNT_STEPS if difference <= limit), 0.0)
    return min(1.0, score * 1.1) if is_same_currency else score * 0.4


def _date_score(paper: dt.date, payment: dt.date, *, is_invoice: bool) -> float:
    after = (payment - paper).days
    if is_invoice and after > 0:
        in_range = [score for first, last, score in _INVOICE_DAYS if first <= after <= last]
        if in_range:
            return max(in_range)
        if after <= 123:
            return max(0.7, 0.9 - (after - 33) * 0.002)
    elif is_invoice and after >= -10:
        return 0.85
    elif not is_invoice and after < 0:
        for most, score in _EXPENSE_DAYS:
            if 3 - after <= most:
                return score
    elif not is_invoice and after <= 10:
        return 0.85
    days = abs(after)
    near = next((score for most, score in _NEAR_DAYS if days <= most), None)
    return near if near is not None else max(0.3, 1 - days / 30 * 0.7) if days <= 30 else 0.1
