"""Values found for fields, and the extraction with evidence that they become."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.schemas.filling import filled
from docmill.understanding.fields.candidates import Candidate
from docmill.understanding.page.layout import Layout, Span, spans_reading
from docmill.understanding.text.folding import without_accents


@dataclass(frozen=True, slots=True)
class Finding:
    """A field's value, the spans it was read from, and the share of belief it got among its rivals.

    spans: empty for a value computed from others. calibrated: the probability is the share of such
    answers that are right, and counts already how well the words were recognised.
    """

    value: date | Decimal | str
    spans: tuple[Span, ...]
    probability: float
    calibrated: bool = False


Findings = Mapping[str, Finding]


def cleaned(text: str, *, plain: bool) -> str:
    """A name or address as its owner writes it: without stray marks around it.

    plain: without accents, which recognition sees in the dirt of a page whose language has none.
    """
    text = re.sub(r"\s+", " ", text).strip(" ,;:*|_~-\u2013\u00b7\u2022")
    return without_accents(text) if plain else text


def finding_of(candidate: Candidate[Any], probability: float) -> Finding:
    """The finding of a candidate's value."""
    return Finding(candidate.value, candidate.spans, probability)


def probabilities(scores: Sequence[float], *, null: float) -> list[float]:
    """Softmax over the rival values and the possibility that none is right, whose score is `null`."""
    top = max([*scores, null])
    weights = [math.exp(score - top) for score in scores]
    total = sum(weights) + math.exp(null - top)
    return [weight / total for weight in weights]


def best(scored: Iterable[tuple[Candidate[Any], float]], *, null: float) -> Finding | None:
    """The value with the highest score, if that is above `null`; its rivals are the other values."""
    by_value: dict[Any, tuple[Candidate[Any], float]] = {}
    for candidate, score in scored:
        rival = by_value.get(candidate.value)
        if rival is None or score > rival[1]:
            by_value[candidate.value] = (candidate, score)
    if not by_value:
        return None
    ranking = sorted(by_value.values(), key=lambda pair: -pair[1])
    if ranking[0][1] <= null:
        return None
    share = probabilities([score for _, score in ranking], null=null)[0]
    return finding_of(ranking[0][0], share)


def extraction(schema: Schema, findings: Findings, layout: Layout, *, step: StepTaken) -> Extraction:
    """The findings as the schema, leaving out what it has no field for."""
    data: dict[str, Any] = {}
    evidence: dict[str, Evidence] = {}
    for path, finding in sorted(findings.items(), key=lambda pair: _ordered(pair[0])):
        if re.split(r"[.\[]", path)[0] not in schema.fields.model_fields:
            continue
        set_value(data, path, finding.value)
        evidence[path] = evidence_of(finding, layout)
    return Extraction(
        document_type=schema.name, data=filled(schema.fields, data), evidence=evidence, steps=(step,)
    )


def _ordered(path: str) -> tuple[str, int, str]:
    """Paths by name, those of a list by index."""
    owner, _, name = path.partition("[")
    index, _, rest = name.partition("]")
    return owner, int(index or 0), rest


def evidence_of(finding: Finding, layout: Layout) -> Evidence:
    """Confidence is the finding's share of belief times the recognition's confidence in the words."""
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
