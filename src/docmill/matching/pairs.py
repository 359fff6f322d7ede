"""Pairs of records with their evidence and score."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from docmill.matching.amounts import AmountComparison
from docmill.matching.candidates import CandidateIndex
from docmill.matching.comparison import (
    compare,
    compare_duplicates,
    compare_items_of,
    is_response,
    is_same_booking,
)
from docmill.matching.evidence import AmountLevel, Evidence, ItemLevel, SharedLevel
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Relation
from docmill.matching.relations import CHAINED, DUPLICATED, RULE_OF, RULES, SUMMED
from docmill.matching.returned_payments import compare_return, in_order_of_return, may_be_return
from docmill.matching.scoring import Weights, log_odds

LEAST_LOG_ODDS = -3.0
"""Pairs below these are given up."""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two records that may be related. log_odds: see `docmill.matching.scoring`."""

    first: MatchRecord
    second: MatchRecord
    relation: Relation
    evidence: Evidence
    amount: AmountComparison
    log_odds: float

    @property
    def key(self) -> tuple[str, str, Relation]:
        """What tells a pair apart."""
        return self.first.id, self.second.id, self.relation

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of its records, by which people link and part them."""
        return self.first.id, self.second.id

    def with_amount(self, amount: AmountComparison, weights: Weights) -> "ScoredPair":
        """The pair with another comparison of its amounts, scored anew."""
        evidence = self.evidence._replace(amount=amount.level)
        return replace(self, evidence=evidence, amount=amount, log_odds=log_odds(evidence, weights))

    def with_evidence(self, weights: Weights, **levels: IntEnum) -> "ScoredPair":
        """The pair with other levels of some dimensions, scored anew."""
        evidence = self.evidence._replace(**levels)  # type: ignore[arg-type]
        return replace(self, evidence=evidence, log_odds=log_odds(evidence, weights))


def score_pair(
    one: MatchRecord,
    other: MatchRecord,
    weights: Mapping[Relation, Weights],
    *,
    least: float = LEAST_LOG_ODDS,
) -> ScoredPair | None:
    """The pair of two records, put in the order of their relation.

    None if they cannot be related, or if the log-odds would be under `least` whatever other records explain.
    The first of two duplicates is the earlier one by date, then by id. A payment and its return may be of one
    statement; all others are of two documents.
    """
    is_return = may_be_return(one, other)
    if one.id == other.id or (one.document_id == other.document_id and not is_return):
        return None
    if is_return:
        relation: Relation = "payment_to_return"
        first, second = in_order_of_return(one, other)
        evidence, amount = compare_return(first, second)
    elif one.kind == other.kind:
        if one.kind not in DUPLICATED or (one.kind == "payment" and not is_same_booking(one, other)):
            return None
        first, second = in_order(one, other)
        relation = "duplicate"
        if one.kind == "purchase_order" and is_response(first, second):
            relation = "order_to_response"
            evidence, amount = compare(RULE_OF[relation], first, second)
        else:
            evidence, amount = compare_duplicates(first, second)
    elif rule := RULES.get((one.kind, other.kind)):
        first, second, relation = one, other, rule.relation
        evidence, amount = compare(rule, first, second)
    elif rule := RULES.get((other.kind, one.kind)):
        first, second, relation = other, one, rule.relation
        evidence, amount = compare(rule, first, second)
    else:
        return None
    own_weights = weights[relation]
    if _best_case(evidence._replace(items=ItemLevel.EXACT), own_weights, relation) < least:
        return None
    evidence = evidence._replace(items=compare_items_of(first, second))
    if _best_case(evidence, own_weights, relation) < least:
        return None
    return ScoredPair(first, second, relation, evidence, amount, log_odds(evidence, own_weights))


def in_order(one: MatchRecord, other: MatchRecord) -> tuple[MatchRecord, MatchRecord]:
    """Two records of a kind in the order of their relation: by date, but a response after its order.

    Of a payment and its return on one day, what says that it is a return comes second.
    """
    if may_be_return(one, other):
        return in_order_of_return(one, other)
    first, second = sorted((one, other), key=_age)
    if one.kind == "purchase_order" and is_response(second, first):
        return second, first
    return first, second


def _best_case(evidence: Evidence, weights: Weights, relation: Relation) -> float:
    """The log-odds of a pair if sums and common links explained what they can explain."""
    if relation in CHAINED:
        evidence = evidence._replace(shared=SharedLevel.LINKED)
    if relation in SUMMED and evidence.may_be_part:
        evidence = evidence._replace(amount=max(evidence.amount, AmountLevel.EXPLAINED))
    return log_odds(evidence, weights)


def pairs_of(
    records: Iterable[MatchRecord],
    weights: Mapping[Relation, Weights],
    *,
    least: float = LEAST_LOG_ODDS,
) -> Iterator[ScoredPair]:
    """All pairs of candidates among records, each once; see `score_pair`."""
    records = list(records)
    index = CandidateIndex(records)
    seen: set[tuple[str, str]] = set()
    for record in sorted(records, key=_age):  # what they are compared by is still cached for their neighbours
        for other in index.find(record):
            key = (record.id, other.id) if record.id < other.id else (other.id, record.id)
            if key not in seen:
                seen.add(key)
                if pair := score_pair(record, other, weights, least=least):
                    yield pair


def _age(record: MatchRecord) -> tuple[str, str]:
    return record.issue_date.isoformat() if record.issue_date else "", record.id
