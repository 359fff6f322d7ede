"""The score of a pair: log-odds that add up over its evidence, with weights fitted to labelled pairs.

`log-odds = bias + the weight of each dimension's level`, and at least `NAMED_LOG_ODDS` where one record names
the other and nothing speaks against it. Weights never fall from one level to the next, so that more evidence
never lowers a score. See `WEIGHTS_CARD.md` for how they were made.
"""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources

from docmill.matching.amounts import AmountComparison
from docmill.matching.comparison import sides_of
from docmill.matching.evidence import LEVELS, Evidence
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Reason, Relation
from docmill.matching.parties import Likeness
from docmill.matching.returned_payments import compared_references, may_be_return

Weights = Mapping[str, tuple[float, ...]]
"""Of one relation: a single number under `bias`, and one number for each level under each dimension."""

NAMED_LOG_ODDS = -1.0
"""Least log-odds of a pair of which one names the other's number and nothing speaks against it: enough to ask
a person, and never enough for a link by itself."""

_NAMES_OF_RETURNS = {"party": "counterparty", "other_party": "account"}
"""What the parties of a payment and its return are called in codes of reasons."""
_LEAST_TOLD = 0.05
"""Weights below this are not told as reasons."""


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[Relation, Weights]:
    """The weights of this release, by relation."""
    content = json.loads(resources.files("docmill.matching").joinpath("weights.json").read_text("utf-8"))
    return {
        relation: {name: tuple(values) for name, values in weights.items()}
        for relation, weights in content["relations"].items()
    }


def log_odds(evidence: Evidence, weights: Weights) -> float:
    """The log-odds that a pair with this evidence is related."""
    total = 0.0
    for name, level in zip(Evidence._fields, evidence, strict=True):  # for each pair: faster than `sum`
        total += weights[name][level]
    score = weights["bias"][0] + total
    return max(score, NAMED_LOG_ODDS) if evidence.is_named_without_contradiction else score


def probability(log_odds: float) -> float:
    """The probability for log-odds."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))


def reasons(
    evidence: Evidence,
    weights: Weights,
    amount: AmountComparison,
    first: MatchRecord,
    second: MatchRecord,
) -> tuple[Reason, ...]:
    """The evidence of a pair, the strongest first; codes are `DIMENSION_LEVEL`, as `reference_equal`."""
    names = _NAMES_OF_RETURNS if may_be_return(first, second) else {}
    told = [
        Reason(
            amount.code
            if name == "amount"
            else f"{names.get(name, name)}_{LEVELS[index](level).name.lower()}",  # type: ignore[operator]
            weights[name][level],
            dict(_values(name, amount, first, second)),
        )
        for index, (name, level) in enumerate(zip(Evidence._fields, evidence, strict=True))
        if abs(weights[name][level]) >= _LEAST_TOLD
    ]
    if evidence.is_named_without_contradiction and evidence.party == Likeness.UNKNOWN:
        told.append(Reason("party_unknown", 0.0, {}))
    return tuple(sorted(told, key=lambda reason: -abs(reason.weight)))


def _values(
    name: str, amount: AmountComparison, first: MatchRecord, second: MatchRecord
) -> Iterator[tuple[str, str]]:
    pairs = _of_return(name, first, second) if may_be_return(first, second) else None
    match name if pairs is None else None:
        case "reference":
            pairs = (first.number and first.number.value, _named(first, second))
        case "party":
            pairs = (first.seller.name, second.seller.name)
        case "other_party":
            pairs = (first.buyer.name, second.buyer.name)
        case "amount":
            pairs = (amount.first, amount.second)
        case "date":
            pairs = (first.issue_date or first.delivery_date, second.issue_date or second.delivery_date)
        case _:
            pairs = pairs or (None, None)
    for side, value in zip(("first", "second"), pairs, strict=True):
        if value not in (None, ""):
            yield side, str(value)


def _of_return(name: str, payment: MatchRecord, returning: MatchRecord) -> tuple[str, str] | None:
    """What was compared of a payment and its return, where that is not as for other records."""
    match name:
        case "reference":
            return compared_references(payment, returning)
        case "party":
            (party, other_party), _ = sides_of("payment_to_return", payment, returning)
            return party.name, other_party.name
        case "returned":
            return "", returning.returned.text
        case _:
            return None


def _named(first: MatchRecord, second: MatchRecord) -> str:
    if first.kind == second.kind:
        return second.number.value if second.number else ""
    if first.number is None:
        return ""
    number = first.number
    equal = next((each.value for each in second.references if each.key == number.key), None)
    return equal or next((each.value for each in second.references if each.kind == number.kind), "")
