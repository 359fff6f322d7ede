"""Values found for fields, and the extraction with evidence that they become."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from pydantic_core import to_jsonable_python

from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Schema, StepTaken, Suggestion
from docmill.schemas.filling import filled
from docmill.understanding.fields.candidates import Candidate, Form
from docmill.understanding.page.layout import Layout, Span, spans_reading
from docmill.understanding.text.folding import without_accents

MOST_RIVALS = 3
"""Values beside the best one that are kept, to be suggested to a person."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The value of a field, the spans it was read from, and its probability among its rivals.

    spans: empty for a value computed from others. calibrated: the probability is a calibrated one, which
    already includes how well the words were recognised. rivals: the next best values, the best first. named:
    how strongly labels name the field, as far as known. form: of its candidate. agrees: whether another
    reader of the field found the same value; None without another reader. is_under_label: the label that
    names it stands over it. is_contradicted: the texts around it say that it is another value. is_ambiguous:
    its label may be that of another value, too. is_checked: a checksum of its own holds.
    """

    value: date | Decimal | str
    spans: tuple[Span, ...]
    probability: float
    calibrated: bool = False
    rivals: "tuple[Finding, ...]" = ()
    named: float = 0.0
    form: Form | None = None
    agrees: bool | None = None
    is_under_label: bool = False
    is_contradicted: bool = False
    is_ambiguous: bool = False
    is_checked: bool = False


Findings = Mapping[str, Finding]


def cleaned(text: str, *, plain: bool) -> str:
    """A name or address without stray punctuation around it.

    plain: take accents off, which recognition sees in specks of dirt; for languages without accents.
    """
    text = re.sub(r"\s+", " ", text).strip(" ,;:*|_~-\u2013\u00b7\u2022")
    return without_accents(text) if plain else text


def finding_of(candidate: Candidate[Any], probability: float, rivals: "tuple[Finding, ...]" = ()) -> Finding:
    """The finding of a candidate's value."""
    named = max(candidate.clues.values(), default=0.0)
    return Finding(
        candidate.value, candidate.spans, probability, rivals=rivals, named=named, form=candidate.form
    )


def probabilities(scores: Sequence[float], *, null: float) -> list[float]:
    """Softmax over the rival values and the possibility that none is right, whose score is `null`."""
    top = max([*scores, null])
    weights = [math.exp(score - top) for score in scores]
    total = sum(weights) + math.exp(null - top)
    return [weight / total for weight in weights]


def best(scored: Iterable[tuple[Candidate[Any], float]], *, null: float) -> Finding | None:
    """The value with the highest score, if that is above `null`; its rivals are the other values."""
    options = list(scored)
    index = max(range(len(options)), key=lambda index: options[index][1], default=-1)
    if index < 0 or options[index][1] <= null:
        return None
    candidates, scores = zip(*options, strict=True)
    return finding_among(candidates, scores, index, null=null)


def finding_among(
    candidates: Sequence[Candidate[Any]], scores: Sequence[float], index: int, *, null: float
) -> Finding:
    """The finding of the candidate at `index`, with its probability among the other values and no value."""
    places: dict[object, int] = {}
    for place, (candidate, score) in enumerate(zip(candidates, scores, strict=True)):
        other = places.setdefault(candidate.key, place)
        if score > scores[other]:
            places[candidate.key] = place
    places.pop(candidates[index].key)
    rivals = sorted(places.values(), key=lambda place: -scores[place])
    # The other places of the value itself, which may be better ones, are no rivals.
    best_score = max(
        score
        for candidate, score in zip(candidates, scores, strict=True)
        if candidate.key == candidates[index].key
    )
    shares = probabilities([best_score, *(scores[place] for place in rivals)], null=null)
    return finding_of(
        candidates[index],
        shares[0],
        tuple(
            finding_of(candidates[place], share)
            for place, share in zip(rivals[:MOST_RIVALS], shares[1:], strict=False)
        ),
    )


def extraction(schema: Schema, findings: Findings, layout: Layout, *, step: StepTaken) -> Extraction:
    """The findings as an extraction by the schema; fields that the schema lacks are left out."""
    data: dict[str, Any] = {}
    evidence: dict[str, Evidence] = {}
    suggestions: dict[str, tuple[Suggestion, ...]] = {}
    for path in sorted(findings, key=_by_name_and_index):
        if re.split(r"[.\[]", path)[0] in schema.fields.model_fields:
            finding = findings[path]
            set_value(data, path, finding.value)
            evidence[path] = evidence_of(finding, layout)
            if finding.rivals:
                suggestions[path] = tuple(
                    suggestion_of(rival.value, evidence_of(rival, layout)) for rival in finding.rivals
                )
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, data),
        evidence=evidence,
        suggestions=suggestions,
        steps=(step,),
    )


def suggestion_of(value: object, evidence: Evidence) -> Suggestion:
    """The suggestion of a value, in the JSON form that records use."""
    return Suggestion(value=to_jsonable_python(value), evidence=evidence)


def _by_name_and_index(path: str) -> tuple[str, int, str]:
    owner, _, name = path.partition("[")
    index, _, rest = name.partition("]")
    return owner, int(index or 0), rest


def evidence_of(finding: Finding, layout: Layout) -> Evidence:
    """Evidence of a finding: its probability, times the recognition of its words unless it is calibrated."""
    if not finding.spans:
        return Evidence(page=None, box=None, text=None, match="computed", confidence=finding.probability)
    page = layout.sheet(finding.spans[0].segment).page
    box, recognition = spans_reading(finding.spans, page.words)
    text = " ".join(span.text for span in finding.spans)
    return Evidence(
        page=page.number,
        box=box,
        text=text,
        match="exact" if text == str(finding.value) else "normalised",
        confidence=round(finding.probability * (1 if finding.calibrated else recognition), 4),
    )
