"""Extraction of built-in types: receipts by the learned model, everything else by rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document, letters_and_digits
from docmill.model.result import Extraction, Schema, StepTaken
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.understanding.belief.model import believed
from docmill.understanding.constraints.agreements import agreement_fields
from docmill.understanding.constraints.corrected_invoice import corrected_invoice
from docmill.understanding.constraints.extractor import STEP as RULES_STEP
from docmill.understanding.constraints.extractor import (
    every_finding,
    extract_by_rules,
    listed_findings,
    ruled_findings,
)
from docmill.understanding.constraints.header_fields import numbers, undecided
from docmill.understanding.constraints.letters import is_day_of_invoice
from docmill.understanding.constraints.parties import parties
from docmill.understanding.constraints.totals import currency, totals
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates, Form
from docmill.understanding.fields.findings import MOST_RIVALS, Finding, Findings, cleaned, extraction
from docmill.understanding.log_odds import log_odds
from docmill.understanding.page.layout import Span
from docmill.understanding.page.titles import is_title
from docmill.understanding.page_model.seen import Place, likeliest_fact, likeliest_text
from docmill.understanding.receipts.amounts import amounts
from docmill.understanding.receipts.field_places import FieldPlaces, field_places
from docmill.understanding.receipts.head import Head, head
from docmill.understanding.receipts.model import (
    FIELDS,
    LEARNED,
    TOTAL,
    ReceiptModel,
    context_scores,
    shipped,
)
from docmill.understanding.receipts.scorers import Trees
from docmill.understanding.receipts.spans import ROLES, Choices, Field, enumerate_spans
from docmill.understanding.receipts.text_facts import text_facts
from docmill.understanding.user_schemas.extractor import labelled_findings
from docmill.understanding.user_schemas.meant_amounts import meant_amounts

STEP = StepTaken(kind="read", by="model trained on receipts, and rules for the other fields")
TYPE = next(name for name, definition in DEFINITIONS.items() if definition.read_by == "receipt_model")
_LEARNED_TEXTS = set(ROLES.values())
BELIEVED = {*LEARNED, "tax_total", "net_total"}
"""The fields whose belief is fitted to papers of sources that the model does not know."""
_PARTS = ("net_total", "tax_total", "amount_due")
"""The amounts that were chosen to fit the rules' total, and are chosen anew for another total."""
_UNPROVEN: Form = "text"
"""The form of what the page model alone has found: a person is asked, whatever the facts say."""
_MOST_UNPROVEN = 0.5
"""Highest probability of such a value."""
_CLIP = 0.001
"""Least distance of the page model's probabilities from 0 and 1 as facts."""
_LEAST = 0.03
"""Probability below which there is no answer: a best span exists even where the receipt has no name."""
_UNLABELLED = 0.5
"""Confidence in a value without a label that was read by the rules for business documents."""
_FEWEST_RETURNED = 6
"""A receipt of which no more than one amount in so many is negative is no refund."""
_RIVALS = 8
"""The best answers that are compared."""


def extract_built_in(document: Document, schema: Schema) -> Extraction:
    """The fields of a built-in type: receipts by the trained model, all other types by rules."""
    kind = known_type(schema.name)
    read_by = DEFINITIONS[kind].read_by
    has_own_fields = bool(DEFINITIONS[kind].fields)
    if not document.pages or (read_by == "rules" and not has_own_fields):
        return extract_by_rules(document, schema)
    candidates = candidates_of(document)
    step = STEP if read_by == "receipt_model" else RULES_STEP
    return extraction(schema, built_in_findings(candidates, kind), candidates.layout, step=step)


def built_in_findings(candidates: Candidates, kind: DocumentType) -> Findings:
    """Every field of a built-in type, by path.

    Receipts are read by the shipped model, other types by rules, and the fields listed in the file of a type
    by their labels.
    """
    definition = DEFINITIONS[kind]
    if definition.read_by == "receipt_model":
        return shipped_findings(candidates)
    labelled = believed(find_labelled(candidates, kind), candidates, "labelled")
    if definition.read_by == "labels":
        return labelled
    found = {
        path: finding
        for path, finding in every_finding(candidates, kind).items()
        if path != "issue_date" or not is_day_of_invoice(finding, kind)
    }
    taken = {finding.spans for finding in labelled.values()}
    others = {path: finding for path, finding in found.items() if finding.spans not in taken}
    # The number of the invoice that is corrected is no rival of the document's own.
    if labelled:
        own = numbers(candidates, kind, taken)
        others |= believed(own, candidates, "business") | undecided(own)
    read_as = {path: field.read_as for path, field in definition.fields.items() if field.read_as in others}
    findings = {**others, **{path: others[source] for path, source in read_as.items()}, **labelled}
    return {**findings, **agreement_fields(candidates, kind, findings)}


def find_labelled(candidates: Candidates, kind: DocumentType) -> dict[str, Finding]:
    """The fields listed in the file of a type, with their probabilities among rivals.

    In a type that is read by labels alone, fields without a label take what the rules of business papers
    find.
    """
    labelled = meant_amounts(candidates, kind, labelled_findings(candidates, kind))
    labelled |= corrected_invoice(candidates, kind)
    definition = DEFINITIONS[kind]
    if definition.read_by == "labels":
        ruled = {**parties(candidates, kind), **dict(currency(candidates))}
        for path, field in definition.fields.items():
            if path not in labelled and field.read_as in ruled:
                finding = ruled[field.read_as]
                labelled[path] = replace(finding, probability=_UNLABELLED * finding.probability, named=0.0)
    return labelled


@once
def shipped_findings(candidates: Candidates) -> Findings:
    """Every field of a receipt by the shipped model, by path."""
    findings = learned_findings(candidates, shipped())
    calibrated = believed(findings, candidates, "receipt", known_facts(findings, candidates))
    return {
        path: calibrated[path] if path in BELIEVED and finding.form != _UNPROVEN else finding
        for path, finding in findings.items()
    }


def known_facts(findings: Findings, candidates: Candidates) -> dict[str, dict[str, float]]:
    """The facts that only values of receipts have, by path and by their names in `FACTS`."""
    facts = {path: dict(named) for path, named in text_facts(findings, candidates).items()}
    for path, finding in findings.items():
        if path in BELIEVED and finding.spans:
            place = Place(candidates, finding.spans)
            facts.setdefault(path, {}).update(
                {
                    "seen": log_odds(place.chance(path), clip=_CLIP) / 4,
                    "seen elsewhere": log_odds(place.best_elsewhere(path), clip=_CLIP) / 4,
                }
            )
    return facts


def learned_findings(candidates: Candidates, model: ReceiptModel) -> Findings:
    """Every field of a receipt, by path; the learned ones with their probability among rivals."""
    ruled = ruled_findings(candidates, TYPE)
    # Where learning found no name or address, the rules' is none either.
    findings = {path: finding for path, finding in ruled.items() if path not in _LEARNED_TEXTS}
    findings |= answers(candidates, ruled, model)
    total, ruled_total = findings.get(TOTAL), ruled.get(TOTAL)
    if (
        total is not None
        and isinstance(total.value, Decimal)
        and (ruled_total is None or ruled_total.value != total.value)
    ):
        parts = totals(candidates, TYPE, total.value)
        findings = {path: finding for path, finding in findings.items() if path not in _PARTS} | {
            path: finding for path, finding in parts.items() if path != TOTAL
        }
    if (
        total is not None
        and "currency" not in findings
        and (seen := likeliest_fact(candidates, "currency")) is not None
    ):
        findings["currency"] = Finding(seen[0], (), _MOST_UNPROVEN * seen[1], form=_UNPROVEN)
    return findings | listed_findings(candidates, TYPE, findings)


def answers(candidates: Candidates, ruled: Findings, model: ReceiptModel) -> dict[str, Finding]:
    """The values of the learned fields, by path. ruled: the findings of the rules on the same receipt."""
    receipt_head = head(candidates)
    tags = model.tagger.probabilities(receipt_head.rows(model.letters.scores(receipt_head.texts)))
    by_path = _answer_texts(candidates, ruled, model, tags, receipt_head)
    by_path[TOTAL] = _answer_total(candidates, ruled, model)
    for path, scorer in model.places.items():
        by_path[path] = _answer_place(field_places(candidates, path, ruled), ruled.get(path), scorer)
    return {path: finding for path, finding in by_path.items() if finding is not None}


def _answer_place(places: FieldPlaces, rule: Finding | None, scorer: Trees) -> Finding | None:
    """The most probable value of a field, at its most probable place."""
    if not places.values:
        return None
    scores = scorer.probabilities(places.rows)
    best: dict[object, int] = {}
    ranked: list[int] = np.argsort(-scores, kind="stable").tolist()
    for index in ranked:
        best.setdefault(places.values[index], index)
    order = list(best.values())
    if scores[order[0]] < _LEAST:
        return None
    first, *rivals = [
        Finding(places.values[index], places.spans[index], float(scores[index]))
        for index in order[: MOST_RIVALS + 1]
    ]
    agrees = None if rule is None else str(rule.value) == str(first.value)
    return replace(first, rivals=tuple(rivals), agrees=agrees)


def _answer_texts(
    candidates: Candidates,
    ruled: Findings,
    model: ReceiptModel,
    tags: NDArray[np.float64],
    receipt_head: Head,
) -> dict[str, Finding | None]:
    """The most probable name and address that have no character in common, by path."""
    scored = {
        field: ScoredChoices.of(enumerate_spans(receipt_head, field, tags), model, tags) for field in FIELDS
    }

    def answer(field: Field, taken: Sequence[Span] = ()) -> Finding | None:
        return _answer_text(candidates, ruled, model, scored[field], taken)

    name, address = answer("name"), answer("address")
    if name is not None and address is not None and _overlap(name.spans, address.spans):
        other_name, other_address = answer("name", address.spans), answer("address", name.spans)
        if _score(name) * _score(other_address) >= _score(other_name) * _score(address):
            address = other_address
        else:
            name = other_name
    found = {ROLES["name"]: name, ROLES["address"]: address}
    return {
        path: answer or _text_elsewhere(candidates, path, found.values()) for path, answer in found.items()
    }


def _text_elsewhere(candidates: Candidates, path: str, others: Iterable[Finding | None]) -> Finding | None:
    """The text that the page model sees anywhere on the page, where none of the head is probable."""
    seen = likeliest_text(candidates, path)
    taken = [span for other in others if other is not None for span in other.spans]
    if seen is None or _overlap(seen[0], taken):
        return None
    text = cleaned(" ".join(span.text for span in seen[0]), plain=candidates.plain)
    return Finding(text, seen[0], _MOST_UNPROVEN * seen[1], form=_UNPROVEN) if text else None


def _score(answer: Finding | None) -> float:
    return _LEAST if answer is None else answer.probability


def _overlap(some: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)


@dataclass(frozen=True, slots=True)
class ScoredChoices:
    """The spans for one field with their probabilities."""

    choices: Choices
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, choices: Choices, model: ReceiptModel, tags: NDArray[np.float64]) -> "ScoredChoices":
        """The choices as the model scores them. tags: the probabilities of each line's tags."""
        if not choices.choices:
            return cls(choices, np.zeros(0))
        return cls(choices, model.spans[choices.field].probabilities(choices.rows(tags)))


def _answer_text(
    candidates: Candidates,
    ruled: Findings,
    model: ReceiptModel,
    scored: ScoredChoices,
    taken: Sequence[Span],
) -> Finding | None:
    """The most probable name or address beside what is taken, with misread letters corrected, if any."""
    choices, scores = scored.choices, scored.scores
    order = _rank(scored, taken)
    if not order:
        return None
    places = choices.spans(order[0])
    # A title above the name is no part of it.
    places = tuple(place for place in places if not is_title(place.text)) or places
    read = cleaned(" ".join(span.text for span in places), plain=candidates.plain)
    is_recognised = any(candidates.layout.sheet(span.segment).page.source == "ocr" for span in places)
    value = cleaned(model.corrector.corrected(read, choices.field), plain=False) if is_recognised else read
    if not value:
        return None
    # The same words trimmed otherwise are no rival: the best one stands for all.
    keys = {index: letters_and_digits(choices.text(index)) for index in order}
    key = keys[order[0]]
    best_places = {keys[index]: index for index in reversed(order) if keys[index] != key}
    rivals = sorted(((index, float(scores[index])) for index in best_places.values()), key=lambda it: -it[1])
    rule = ruled.get(ROLES[choices.field])
    agrees = rule is not None and letters_and_digits(str(rule.value)) == letters_and_digits(read)
    return Finding(
        value,
        places,
        float(scores[order[0]]),
        rivals=tuple(
            Finding(cleaned(choices.text(index), plain=candidates.plain), choices.spans(index), score)
            for index, score in rivals[:MOST_RIVALS]
        ),
        agrees=agrees,
    )


def _rank(scored: ScoredChoices, taken: Sequence[Span]) -> list[int]:
    """Indices of the most probable choices beside what is taken; none if the best is not probable."""
    choices = scored.choices
    order: list[int] = np.argsort(-scored.scores, kind="stable").tolist()
    if taken:
        order = [index for index in order if not _overlap(choices.spans(index), taken)]
    order = order[:_RIVALS]
    order = [index for index in order if not is_title(choices.text(index))] or order
    return order if order and scored.scores[order[0]] >= _LEAST else []


def _answer_total(candidates: Candidates, ruled: Findings, model: ReceiptModel) -> Finding | None:
    """The most probable total, at the place with the strongest labels."""
    sums = amounts(candidates, ruled)
    if not sums.values:
        return None
    scores = model.totals.probabilities(sums.rows(context_scores(model.contexts, sums)))
    order: list[int] = np.argsort(-scores, kind="stable")[:_RIVALS].tolist()
    if scores[order[0]] < _LEAST:
        return None
    among = sums.places[order[0]]
    marked = [amount for amount in candidates.amounts if not amount.plain]
    if _FEWEST_RETURNED * sum(amount.value < 0 for amount in marked) <= len(marked):
        # No refund: a payment or a balance below the total is printed as negative.
        among = [amount for amount in among if amount.value >= 0] or among
    best = max(among, key=lambda amount: sum(amount.clues.values()))
    rule = ruled.get(TOTAL)
    rivals = tuple(
        Finding(sums.values[index], sums.places[index][0].spans, float(scores[index]))
        for index in order[1 : MOST_RIVALS + 1]
    )
    return Finding(
        best.value,
        best.spans,
        float(scores[order[0]]),
        rivals=rivals,
        agrees=None if rule is None else rule.value == abs(best.value),
    )
