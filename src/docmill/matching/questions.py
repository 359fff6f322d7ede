"""Questions about uncertain links to who can judge them, such as a language model, and what answers change.

A question shows one record and its ranked candidates as data. An answer says which of them belong to it. It
may make a link automatic only where no rule speaks against it, and else changes the rank of suggestions.
"""

import datetime as dt
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast

from docmill.matching.assignment import places_of
from docmill.matching.decision import AUTOMATIC, SUGGESTED, may_be_automatic
from docmill.matching.evidence import AmountLevel, DateLevel, ItemLevel, ReferenceLevel, SharedLevel
from docmill.matching.match_record import MatchRecord, PartyIdentity
from docmill.matching.outcome import Link, Reason, Relation
from docmill.matching.pairs import ScoredPair
from docmill.matching.parties import Likeness
from docmill.matching.scoring import probability
from docmill.understanding.types.tags import one_line

MOST_CANDIDATES = 8
MOST_CHARACTERS = 16_000
"""Of the record and its candidates as JSON; those that do not fit are left out, the least likely first."""
LEAST_RAISED = 0.5
"""A link that is less probable by the rules is not made automatic, whatever an answer says."""
JUDGED_LOG_ODDS = 1.0
"""By so much an answer raises or lowers the log-odds of a suggestion. It is a choice and not measured."""

_LONGEST_TEXT = 200
_MOST_ITEMS = 10
_MOST_REFERENCES = 12
_BELOW_AUTOMATIC = math.nextafter(AUTOMATIC, 0)

PairKey = tuple[str, str, Relation]


class AnswerError(ValueError):
    """An answer that is not of the form asked for."""


@dataclass(frozen=True, slots=True)
class Question:
    """Which of these pairs belong together? Each pair has the record; the likeliest pair is the first."""

    record: MatchRecord
    pairs: tuple[ScoredPair, ...]

    def candidate(self, pair: ScoredPair) -> MatchRecord:
        """The other record of a pair."""
        return pair.second if pair.first.id == self.record.id else pair.first

    @property
    def content(self) -> str:
        """The record and its candidates as JSON; candidates are called `c1`, `c2` and so on."""
        content = {
            "record": _described(self.record),
            "candidates": [
                {"id": name, "relation": pair.relation, **_described(self.candidate(pair))}
                for name, pair in self.named.items()
            ],
        }
        return json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1)

    @property
    def named(self) -> Mapping[str, ScoredPair]:
        """The pairs by the names of their candidates."""
        return {f"c{number}": pair for number, pair in enumerate(self.pairs, 1)}

    @property
    def digest(self) -> str:
        """Digest of all that the answer depends on, but for who is asked and how."""
        ids = [pair.key for pair in self.pairs]
        return hashlib.sha256(json.dumps([self.record.id, ids, self.content]).encode()).hexdigest()

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON Schema of an answer."""
        link = {
            "type": "object",
            "properties": {
                "candidate": {"type": "string", "enum": list(self.named)},
                "relation": {"type": "string", "enum": sorted({pair.relation for pair in self.pairs})},
                "reason": {"type": "string"},
            },
            "required": ["candidate", "relation", "reason"],
            "additionalProperties": False,
        }
        return {
            "type": "object",
            "properties": {
                "verdict": {"type": "string", "enum": ["match", "no_match"]},
                "links": {"type": "array", "items": link},
            },
            "required": ["verdict", "links"],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was answered about a pair. digest: of the pair that was judged. by: the name of who judged.

    is_suspicious: the records hold orders to a machine, so that the answer may be theirs.
    """

    first_id: str
    second_id: str
    relation: Relation
    digest: str
    belongs: bool
    reason: str
    by: str
    is_suspicious: bool = False

    @property
    def key(self) -> PairKey:
        """What tells the pair apart."""
        return self.first_id, self.second_id, self.relation


def question_about(
    record: MatchRecord, links: Iterable[Link], pairs: Iterable[ScoredPair]
) -> Question | None:
    """The question about a record whose best links are suggestions; None if there is nothing to ask.

    With a suggestion, the links are shown that it outranks. Relations in which the record has an automatic
    link are not asked about, nor are duplicates.
    """
    by_key = {pair.key: pair for pair in pairs}
    own = [link for link in links if record.id in (link.first_id, link.second_id)]
    decided = {link.relation for link in own if link.state == "automatic"} | {"duplicate"}
    suggested = {link.relation for link in own if link.state == "suggested"}
    open_links = [link for link in own if link.relation in suggested - decided and link.score >= SUGGESTED]
    open_links.sort(key=lambda link: (-link.score, link.first_id, link.second_id, link.relation))
    chosen = tuple(by_key[_key(link)] for link in open_links[:MOST_CANDIDATES])
    while chosen:
        question = Question(record, chosen)
        if len(question.content) <= MOST_CHARACTERS:
            return question
        chosen = chosen[:-1]
    return None


def judgements_of(
    question: Question, answer: Mapping[str, Any], *, by: str, is_suspicious: bool
) -> list[Judgement]:
    """What an answer says of each candidate. Raises AnswerError if it is not of the form asked for."""
    links = answer.get("links")
    if set(answer) != {"verdict", "links"} or not isinstance(links, list):
        raise AnswerError("it has other members")
    reasons: dict[str, str] = {}
    for link in cast("list[object]", links):
        name, reason = _link_of(question, link)
        if name in reasons:
            raise AnswerError("it names a candidate twice")
        reasons[name] = reason
    if answer["verdict"] != ("match" if reasons else "no_match"):
        raise AnswerError("its verdict contradicts its links")
    return [
        Judgement(
            *pair.key,
            pair_digest(pair),
            belongs=name in reasons,
            reason=reasons.get(name, ""),
            by=by,
            is_suspicious=is_suspicious,
        )
        for name, pair in question.named.items()
    ]


def _link_of(question: Question, link: object) -> tuple[str, str]:
    if not isinstance(link, Mapping):
        raise AnswerError("a link is no object")
    values = cast("Mapping[str, object]", link)
    if set(values) != {"candidate", "relation", "reason"}:
        raise AnswerError("a link has other members")
    name, reason = values["candidate"], values["reason"]
    pair = question.named.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or pair is None:
        raise AnswerError("it names a candidate that is not there")
    if values["relation"] != pair.relation:
        raise AnswerError("it names another relation")
    text = one_line(reason, _LONGEST_TEXT)
    if text is None:
        raise AnswerError("it gives no reason")
    return name, text


def pair_digest(pair: ScoredPair) -> str:
    """Digest of two records and their evidence: a judgement holds as long as it is the same."""
    content = [_described(pair.first), _described(pair.second), [int(level) for level in pair.evidence]]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def with_judgements(
    links: Sequence[Link],
    pairs: Iterable[ScoredPair],
    judgements: Iterable[Judgement],
    *,
    confirmed: Collection[tuple[str, str]] = (),
) -> list[Link]:
    """The links with what was judged of them, as far as their pairs are still those that were judged.

    A suggestion becomes automatic only if it is judged to belong whichever of both was asked about, no rule
    and no piece of evidence speaks against it, the rules give it `LEAST_RAISED`, the records hold no orders
    to machines, and every link that excludes it is judged not to belong. Else links only change rank; one
    that was outranked becomes a suggestion unless an automatic link excludes it. Nothing changes for
    confirmed links: pairs of ids that a person has linked.
    """
    by_key = {pair.key: pair for pair in pairs}
    judged: dict[PairKey, list[Judgement]] = {}
    for judgement in judgements:
        pair = by_key.get(judgement.key)
        if pair is None or judgement.relation == "duplicate" or judgement.key[:2] in confirmed:
            continue
        if pair_digest(pair) == judgement.digest:
            judged.setdefault(judgement.key, []).append(judgement)
    return [_judged_link(link, links, by_key, judged) if _key(link) in judged else link for link in links]


def _judged_link(
    link: Link,
    links: Sequence[Link],
    pairs: Mapping[PairKey, ScoredPair],
    judged: Mapping[PairKey, Collection[Judgement]],
) -> Link:
    own = judged[_key(link)]
    told = _reasons(own)
    answers = {each.belongs for each in own}
    if link.state == "automatic" or len(answers) > 1:
        # Asked about the one record and about the other, it may be answered differently.
        return replace(link, reasons=(*link.reasons, *told))
    belongs = answers == {True}
    rivals = _rivals(link, links, pairs)
    state = link.state
    if belongs and not any(rival.state == "automatic" for rival in rivals):
        may_be_raised = (
            link.state == "suggested"
            and link.score >= LEAST_RAISED
            and not any(each.is_suspicious for each in own)
            and _nothing_contradicts(pairs[_key(link)])
            and all(
                _key(rival) in judged and not any(each.belongs for each in judged[_key(rival)])
                for rival in rivals
            )
        )
        state = "automatic" if may_be_raised else "suggested"
    log_odds = math.log(link.score / (1 - link.score)) if 0 < link.score < 1 else 0.0
    moved = probability(log_odds + (JUDGED_LOG_ODDS if belongs else -JUDGED_LOG_ODDS))
    score = min(max(moved, SUGGESTED), max(link.score, _BELOW_AUTOMATIC))
    return replace(link, score=score, state=state, reasons=(*link.reasons, *told))


def _reasons(judgements: Iterable[Judgement]) -> list[Reason]:
    return [
        Reason(
            "model_belongs" if each.belongs else "model_separate",
            JUDGED_LOG_ODDS if each.belongs else -JUDGED_LOG_ODDS,
            {"by": each.by, **({"text": each.reason} if each.reason else {})},
        )
        for each in judgements
    ]


def _nothing_contradicts(pair: ScoredPair) -> bool:
    evidence = pair.evidence
    return (
        may_be_automatic(pair)
        and Likeness.DIFFERENT not in (evidence.party, evidence.other_party)
        and (evidence.amount == AmountLevel.UNKNOWN or evidence.amount >= AmountLevel.EXPLAINED)
        and evidence.date >= DateLevel.UNKNOWN
        and evidence.reference != ReferenceLevel.OTHER
        and evidence.shared != SharedLevel.DIFFERENT
        and evidence.items != ItemLevel.NONE
    )


def _rivals(link: Link, links: Iterable[Link], pairs: Mapping[PairKey, ScoredPair]) -> list[Link]:
    """The other links that claim a place of a link, whether they are taken, suggested or outranked."""
    own = set(places_of(pairs[_key(link)]))
    return [other for other in links if other is not link and own.intersection(places_of(pairs[_key(other)]))]


def _key(link: Link) -> PairKey:
    return link.first_id, link.second_id, link.relation


def _described(record: MatchRecord) -> dict[str, Any]:
    """What is shown of a record: what it is compared by, with each text cut off."""
    values: dict[str, object] = {
        "kind": record.kind,
        "number": record.number and record.number.value,
        "date": record.issue_date,
        "due_date": record.due_date,
        "delivery_date": record.delivery_date,
        "seller": _party(record.seller),
        "buyer": _party(record.buyer),
        "currency": record.currency,
        "net_total": record.net_total,
        "gross_total": record.gross_total,
        "amount_due": record.amount_due,
        "terms": record.terms,
        "text": record.other_values.get("text"),
        "names": [
            f"{each.kind}: {each.value}"[:_LONGEST_TEXT] for each in record.references[:_MOST_REFERENCES]
        ],
        "items": [
            _without_empty(
                {"description": item.description, "quantity": item.quantity, "net_amount": item.net_amount}
            )
            for item in record.items[:_MOST_ITEMS]
        ],
    }
    return _without_empty(values)


def _party(party: PartyIdentity) -> dict[str, Any]:
    return _without_empty({"name": party.name, "vat_id": party.vat_id, "iban": party.iban})


def _without_empty(values: Mapping[str, object]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if value in (None, "", [], {}):
            continue
        match value:
            case str():
                shown[name] = value[:_LONGEST_TEXT]
            case dt.date() | Decimal():
                shown[name] = str(value)
            case _:
                shown[name] = value
    return shown
