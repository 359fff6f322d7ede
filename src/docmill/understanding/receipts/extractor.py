"""Extraction of built-in types: receipts by the learned model, everything else by rule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
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
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import MOST_RIVALS, Finding, Findings, cleaned, extraction
from docmill.understanding.page.layout import Span
from docmill.understanding.page.titles import is_title
from docmill.understanding.receipts.amounts import amounts
from docmill.understanding.receipts.head import Head, head
from docmill.understanding.receipts.model import (
    FIELDS,
    PATHS,
    Calibration,
    ReceiptModel,
    confidence_features,
    context_scores,
    shipped,
)
from docmill.understanding.receipts.spans import Choices, Field, enumerate_spans
from docmill.understanding.receipts.text_facts import text_facts
from docmill.understanding.user_schemas.extractor import labelled_findings
from docmill.understanding.user_schemas.meant_amounts import meant_amounts

STEP = StepTaken(kind="read", by="model trained on receipts, and rules for the other fields")
TYPE = next(name for name, definition in DEFINITIONS.items() if definition.read_by == "receipt_model")
_TOTAL = PATHS["total"]
_LEARNED_TEXTS = {PATHS[field] for field in FIELDS}
BELIEVED = {_TOTAL, *_LEARNED_TEXTS}
"""The fields whose belief is fitted to papers of sources that the model does not know."""
_PARTS = ("net_total", "tax_total", "amount_due")
"""The amounts that were chosen to fit the rules' total, and are chosen anew for another total."""
_LEAST = 0.03
"""Probability below which there is no answer: a best span exists even where the receipt has no name."""
_UNLABELLED = 0.5
"""Confidence in a value without a label that was read by the rules for business documents."""
_RIVALS = 8
"""The best answers that are compared."""
_DATE_DIGITS = 6
"""Two each of day, month and year."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The value of a field, with its places and the features of its confidence.

    rivals, agrees: see `Finding`. score: probability among its rivals; None for fields other than name and
    address.
    """

    value: date | Decimal | str
    spans: tuple[Span, ...]
    features: NDArray[np.float64]
    rivals: tuple[Finding, ...] = ()
    score: float | None = None
    agrees: bool | None = None


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
    # Dates have the curve of their model; net and tax are shares among rivals.
    calibrated = believed(findings, candidates, "receipt", text_facts(findings, candidates))
    return {path: calibrated[path] if path in BELIEVED else finding for path, finding in findings.items()}


def learned_findings(candidates: Candidates, model: ReceiptModel) -> Findings:
    """Every field of a receipt, by path."""
    ruled = ruled_findings(candidates, TYPE)
    # Where learning found no name or address, the rules' is none either.
    findings = {path: finding for path, finding in ruled.items() if path not in _LEARNED_TEXTS}
    for path, answer in answers(candidates, ruled, model).items():
        findings[path] = _finding(answer, model.calibrations[path])
    total, ruled_total = findings.get(_TOTAL), ruled.get(_TOTAL)
    if (
        total is not None
        and isinstance(total.value, Decimal)
        and (ruled_total is None or ruled_total.value != total.value)
    ):
        parts = totals(candidates, TYPE, total.value)
        findings = {path: finding for path, finding in findings.items() if path not in _PARTS} | {
            path: finding for path, finding in parts.items() if path != _TOTAL
        }
    return findings | listed_findings(candidates, TYPE, findings)


def _finding(answer: Answer, calibration: Calibration) -> Finding:
    """The answer as a finding.

    Names and addresses carry their probability among rivals, which the model of belief needs; other fields
    carry the confidence of their calibration curve.
    """
    if answer.score is not None:
        return Finding(answer.value, answer.spans, answer.score, rivals=answer.rivals, agrees=answer.agrees)
    confidence = calibration.confidence(answer.features)
    return Finding(answer.value, answer.spans, confidence, calibrated=True, rivals=answer.rivals)


def answers(candidates: Candidates, ruled: Findings, model: ReceiptModel) -> dict[str, Answer]:
    """The values of the trained fields, by path. ruled: the findings of the rules on the same receipt."""
    receipt_head = head(candidates)
    tags = model.tagger.probabilities(receipt_head.rows(model.letters.scores(receipt_head.texts)))
    by_path = _answer_texts(candidates, ruled, model, tags, receipt_head)
    by_path[PATHS["total"]] = _answer_total(candidates, ruled, model)
    rule = ruled.get(PATHS["date"])
    if rule is not None and isinstance(rule.value, date):  # learning found no better date than the rules'
        values = [candidate.value for candidate in candidates.dates]
        recognition, quality = _legibility(candidates, rule.spans)
        features = confidence_features(
            [rule.probability],
            recognition=recognition,
            quality=quality,
            length=len(set(values)),
            corrected=values.count(rule.value) > 1,
            agrees=sum(map(str.isdecimal, rule.spans[0].text)) >= _DATE_DIGITS,
        )
        by_path[PATHS["date"]] = Answer(rule.value, rule.spans, features, rule.rivals)
    return {path: answer for path, answer in by_path.items() if answer is not None}


def _answer_texts(
    candidates: Candidates,
    ruled: Findings,
    model: ReceiptModel,
    tags: NDArray[np.float64],
    receipt_head: Head,
) -> dict[str, Answer | None]:
    """The most probable name and address that have no character in common, by path."""
    scored = {
        field: ScoredChoices.of(enumerate_spans(receipt_head, field, tags), model, tags) for field in FIELDS
    }

    def answer(field: Field, taken: Sequence[Span] = ()) -> Answer | None:
        return _answer_text(candidates, ruled, model, scored[field], taken)

    name, address = answer("name"), answer("address")
    if name is not None and address is not None and _overlap(name.spans, address.spans):
        other_name, other_address = answer("name", address.spans), answer("address", name.spans)
        if _score(name) * _score(other_address) >= _score(other_name) * _score(address):
            address = other_address
        else:
            name = other_name
    return {PATHS["name"]: name, PATHS["address"]: address}


def _score(answer: Answer | None) -> float:
    return _LEAST if answer is None or answer.score is None else answer.score


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
) -> Answer | None:
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
    score_by_key = {keys[index]: float(scores[index]) for index in reversed(order)}
    key = keys[order[0]]
    best_places = {keys[index]: index for index in reversed(order) if keys[index] != key}
    rivals = sorted(((index, float(scores[index])) for index in best_places.values()), key=lambda it: -it[1])
    rule = ruled.get(PATHS[choices.field])
    agrees = rule is not None and letters_and_digits(str(rule.value)) == letters_and_digits(read)
    recognition, quality = _legibility(candidates, places)
    return Answer(
        value,
        places,
        confidence_features(
            sorted(score_by_key.values(), reverse=True),
            recognition=recognition,
            quality=quality,
            length=len(key),
            corrected=value != read,
            known_share=model.corrector.known_share(value),
            repeated=choices.head.letters.count(key) > 1,
            agrees=agrees,
        ),
        tuple(
            Finding(cleaned(choices.text(index), plain=candidates.plain), choices.spans(index), score)
            for index, score in rivals[:MOST_RIVALS]
        ),
        score=float(scores[order[0]]),
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


def _answer_total(candidates: Candidates, ruled: Findings, model: ReceiptModel) -> Answer | None:
    """The most probable total, at the place with the strongest labels."""
    sums = amounts(candidates, ruled)
    if not sums.values:
        return None
    scores = model.totals.probabilities(sums.rows(context_scores(model.contexts, sums)))
    order: list[int] = np.argsort(-scores, kind="stable")[:_RIVALS].tolist()
    if scores[order[0]] < _LEAST:
        return None
    value, among = sums.values[order[0]], sums.places[order[0]]
    best = max(among, key=lambda amount: sum(amount.clues.values()))
    rule = ruled.get(PATHS["total"])
    recognition, quality = _legibility(candidates, best.spans)
    features = confidence_features(
        [float(scores[index]) for index in order],
        recognition=recognition,
        quality=quality,
        length=len(among),
        corrected=False,
        agrees=rule is not None and rule.value == value,
    )
    rivals = tuple(
        Finding(sums.values[index], sums.places[index][0].spans, float(scores[index]))
        for index in order[1 : MOST_RIVALS + 1]
    )
    return Answer(value if best.value >= 0 else best.value, best.spans, features, rivals)


def _legibility(candidates: Candidates, places: Sequence[Span]) -> tuple[float, float]:
    """The lowest recognition confidence of the words of an answer, and the quality of its page."""
    least = 1.0
    for span in places:
        words = candidates.layout.sheet(span.segment).page.words
        start, stop = span.segment.words(span.start, span.stop)
        least = min(least, float(words.confidences[start:stop].min()))
    return least, candidates.layout.sheet(places[0].segment).page.quality
