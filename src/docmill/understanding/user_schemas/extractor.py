"""Fields of a user's schema, and those that built-in types list, by typed candidates and words around them.

Each field gets one value: the ends of a period are chosen together, and no place serves two fields.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Document
from docmill.model.paths import comparison_key, is_same_value, set_value
from docmill.model.result import Evidence, Extraction, Failure, Schema, StepTaken, Suggestion
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.filling import filled
from docmill.schemas.outline import FieldOutline, outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.belief.model import believed
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import (
    MOST_RIVALS,
    Finding,
    Findings,
    cleaned,
    evidence_of,
    finding_among,
    suggestion_of,
)
from docmill.understanding.fields.label_strengths import is_under_label
from docmill.understanding.fields.match_features import CHECKED, is_whole, needs_no_label
from docmill.understanding.fields.meaning import (
    GENERIC,
    FieldMeaning,
    meaning_of,
    spelling_of,
    words_of,
)
from docmill.understanding.fields.scoring import Scored, score_candidates
from docmill.understanding.tables.lists import list_findings, unread_headings
from docmill.understanding.text.cuts import is_cut_otherwise
from docmill.understanding.text.number_forms import is_reference, may_be_amount
from docmill.understanding.user_schemas.doubts import (
    ends_in_place,
    has_equal_label,
    is_contradicted,
    is_named_weakly,
    is_of_several_currencies,
    paths_without_value,
)
from docmill.understanding.user_schemas.label_texts import LabelTexts
from docmill.understanding.user_schemas.schema_model import PageModel, SchemaModel
from docmill.understanding.user_schemas.sums import proven_paths, without_ambiguity

STEP = StepTaken(
    kind="read", by="labels and layout", note="no embedded data", without_model="no model needed"
)


_NAMED = 0.15
"""The least label strength of a value whose form does not tell the field."""
_NAMED_WELL = 0.4
_SURE = 4.0
"""A score that needs no label."""
_PAIR = 1.0
_ALONE = 1.0
"""Bonus of two ends of a period that are written together, and penalty of all other dates."""
_RIVALS = 8
_LEAST_SHARE, _NEAR_RIVAL = 0.4, 0.6
"""Share of a believed value among its rivals, and the most that a rival may have of that share."""
_MONEY = re.compile(r"[$\u20ac\u00a3\u00a5]|\d[.,]\d\d(?!\d)")
"""A sign of a currency, or cents, which no count has."""
_POSTCODE = re.compile(r"(?<!\d)\d{4,6}\s+[^\W\d_]{2}")
"""A postcode with its town, behind a name that is written with its address."""
_NO_NAME = re.compile(r"[\u2610-\u2612\u2713\u2714/)\]|]|[a-z\u00df-\u00ff][^A-Z\d]*$")
"""The beginning of what is no name: a box to tick, the rest of a label, or words in small letters alone."""
_IN_DOUBT = 0.6
"""The most belief in a value that has less, or such a rival."""
_OF_ROW = 0.5
"""The most belief in a value that is one of the rows of a list."""

OtherFindings = Mapping[str, Sequence[Finding]]
"""The values of another reader for the fields that it reads, too, by path; empty where it found nothing."""
Place = tuple[int, int, int]
"""The index of a segment, its first character there, and the one behind its last."""


def extract_user_schema(
    document: Document,
    schema: Schema,
    model: SchemaModel | None = None,
    built_in: OtherFindings | None = None,
) -> Extraction:
    """The fields of a user's schema, offline.

    model: its learned weights; fields that have some are read by them alone. built_in: see `surest`.
    """
    meanings = meanings_of(outline(schema))
    candidates = candidates_of(document)
    data: dict[str, Any] = {}
    evidence: dict[str, Evidence] = {}
    suggestions: dict[str, tuple[Suggestion, ...]] = {}
    learned = model.on(document) if model is not None else None
    others = {
        path: some
        for path, some in (built_in or {}).items()
        if learned is None or path not in learned.weights
    }
    found = find_values(candidates, meanings, learned, others)
    values = surest(found, believed_others(candidates, found, others))
    if learned is not None:
        values = {
            path: replace(
                finding,
                probability=learned.judged(
                    path, finding.probability, is_choice=meanings[path].form == "choice"
                ),
            )
            for path, finding in values.items()
        }
    listed = list(list_findings(candidates, meanings))
    for path, finding in (*_apart_from(listed, values).items(), *listed):
        meaning = meanings[re.sub(r"\[\d+\]", "[]", path)]
        value = value_for_kind(finding, meaning)
        if value is not None:
            place = path.replace("[]", "[0]")
            set_value(data, place, value)
            evidence[place] = evidence_of(finding, candidates.layout)
            rivals = [(value_for_kind(rival, meaning), rival) for rival in finding.rivals]
            suggestions[place] = tuple(
                suggestion_of(other, evidence_of(rival, candidates.layout))
                for other, rival in rivals
                if other is not None
            )
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, data),
        evidence=evidence,
        suggestions=suggestions,
        failures=_unread_lists(candidates, meanings, [path for path, _ in listed]),
        steps=(STEP,),
    )


def _unread_lists(
    candidates: Candidates, meanings: Mapping[str, FieldMeaning], read: Sequence[str]
) -> tuple[Failure, ...]:
    """A failure for each list without a row, where a table stands that no list was read from."""
    lists = dict.fromkeys(path.partition("[].")[0] for path in meanings if "[]." in path)
    if not lists or read:
        return ()
    headings = unread_headings(candidates)
    if not headings:
        return ()
    table = ", ".join(headings)
    return tuple(
        Failure(
            check="empty_list",
            message=f"No row of {name} was read, but there is a table with the headings {table}; "
            "name them as labels of its fields.",
            fields=(name,),
        )
        for name in lists
    )


def _apart_from(listed: Sequence[tuple[str, Finding]], values: Findings) -> dict[str, Finding]:
    """The values, of which those below the heading of a list that was read are not believed.

    They are of one of its rows: `Date` above the days of a timesheet is no label of the date of approval.
    """
    cells = {span.segment.index for _, finding in listed for span in finding.spans}
    return {
        path: replace(finding, probability=min(finding.probability, _OF_ROW))
        if finding.is_under_label and any(span.segment.index in cells for span in finding.spans)
        else finding
        for path, finding in values.items()
    }


def meanings_of(fields: Sequence[FieldOutline]) -> dict[str, FieldMeaning]:
    """The meaning of each field, by its path."""
    return {field.path: meaning_of(field) for field in fields}


def believed_others(candidates: Candidates, own: Findings, others: OtherFindings) -> OtherFindings:
    """The values of another reader; the first of each field gets a calibrated probability.

    own: the values by labels, whose agreement is one of the facts.
    """
    firsts = believed(with_agreement(own, others), candidates, "lent")
    return {path: (firsts[path], *some[1:]) if some else some for path, some in others.items()}


def with_agreement(own: Findings, others: OtherFindings) -> dict[str, Finding]:
    """The first value of each field by another reader, marked with whether the field's own value is equal."""
    return {
        path: replace(some[0], agrees=is_same_value(some[0].value, own[path].value) if path in own else None)
        for path, some in others.items()
        if some
    }


def _is_cut_as_well(finding: Finding, rival: Finding) -> bool:
    """True for the same value with another end, unless the rival goes on: `KX19 ZTR` beside `KX19`."""
    return _is_nearly_same(finding, rival) and not str(rival.value).startswith(f"{finding.value} ")


def surest(own: Findings, built_in: OtherFindings) -> dict[str, Finding]:
    """The more probable value of each field.

    built_in: values by the rules of the document's type, by the paths of the user's fields. Where these rules
    give several different values for a field, they are taken as equally likely.
    """
    values = dict(own)
    for path, others in built_in.items():
        found = [*others[:1], *([own[path]] if path in own else [])]
        if found:
            best = max(found, key=_probability)
            different = [other for other in others if not _is_nearly_same(other, best)]
            values[path] = _one_of_several(best, different) if different and len(others) > 1 else best
    return values


def _probability(finding: Finding) -> float:
    return finding.probability


def _is_nearly_same(finding: Finding, other: Finding) -> bool:
    same = is_same_value(finding.value, other.value)
    return same or is_cut_otherwise(comparison_key(finding.value), comparison_key(other.value))


def _one_of_several(finding: Finding, others: Sequence[Finding]) -> Finding:
    return replace(
        finding,
        probability=min(finding.probability, 1 / (1 + len(others))),
        rivals=(*others, *finding.rivals)[:MOST_RIVALS],
    )


def find_values(
    candidates: Candidates,
    meanings: Mapping[str, FieldMeaning],
    learned: PageModel | None = None,
    others: OtherFindings | None = None,
) -> dict[str, Finding]:
    """One value for each field that is no member of a list, with calibrated probabilities.

    others: of another reader. A value whose field has labels by its owner keeps its probability among its
    rivals if that is higher; see `PageModel.belief` for one that was learned. What people showed on documents
    of this layout counts more than the words around it.
    """
    found = find_unjudged_values(candidates, meanings, learned, others)
    if learned is not None and learned.layout is not None:
        shown = found.keys() & learned.layout.weights.keys()
        found |= {path: replace(found[path], is_contradicted=False, is_ambiguous=False) for path in shown}
    proven = proven_paths(candidates, meanings, found)
    found = without_ambiguity(found, proven)
    values = believed(found, candidates, "own", {path: {"holds": 1.0} for path in proven})
    for path, finding in found.items():
        share, alone = finding.probability, values[path].probability
        if learned is not None and path in learned.weights:
            values[path] = replace(values[path], probability=learned.belief(path, share, alone=alone))
        elif share > alone and (meanings[path].aliases or finding.is_checked):
            values[path] = finding
    for path in paths_without_value(candidates.layout, [meanings[path] for path in found]):
        found[path] = replace(found[path], is_contradicted=True)
    return {path: _doubted(finding, found[path], meanings[path]) for path, finding in values.items()}


def _doubted(finding: Finding, unjudged: Finding, meaning: FieldMeaning) -> Finding:
    """The finding, which is not believed if it is doubtful. unjudged: see `is_doubtful`."""
    if not is_doubtful(unjudged, meaning):
        return finding
    return replace(finding, probability=min(finding.probability, _IN_DOUBT))


def is_doubtful(unjudged: Finding, meaning: FieldMeaning) -> bool:
    """True if another value is nearly as likely as this one, or it is hardly likely itself.

    So is a name that begins as none does, and what the texts around it contradict.

    unjudged: with its share among its rivals, which a calibrated belief hardly sees.
    """
    share = unjudged.probability
    others = [other for other in unjudged.rivals if not _is_cut_as_well(unjudged, other)]
    rival = max((other.probability for other in others), default=0.0)
    share += sum(other.probability for other in unjudged.rivals if other not in others)
    is_no_name = meaning.form == "name" and _NO_NAME.match(str(unjudged.value)) is not None
    is_in_question = unjudged.is_contradicted or unjudged.is_ambiguous
    return is_no_name or is_in_question or share < _LEAST_SHARE or rival > _NEAR_RIVAL * share


def find_unjudged_values(
    candidates: Candidates,
    meanings: Mapping[str, FieldMeaning],
    learned: PageModel | None = None,
    others: OtherFindings | None = None,
) -> dict[str, Finding]:
    """As `find_values`, with probabilities among the rivals, which are not calibrated."""
    fields = score_fields(candidates, meanings)
    if learned is not None:
        fields = learned.rescored(fields, len(candidates.layout.document.pages))
    found = choose_values(fields, find_periods([field.meaning for field in fields.values()]))
    agreed = {
        path: any(is_same_value(found[path].value, reading.value) for reading in readings)
        for path, readings in (others or {}).items()
        if path in found
    }
    return {path: replace(finding, agrees=agreed.get(path)) for path, finding in found.items()}


def score_fields(candidates: Candidates, meanings: Mapping[str, FieldMeaning]) -> dict[str, Scored]:
    """Scored candidates of each field that is no member of a list; ends of a period are scored as pairs."""
    single = {path: meaning for path, meaning in meanings.items() if "[]." not in path}
    texts = LabelTexts(meanings.values(), candidates)
    fields = {
        path: texts.excluded_from(score_candidates(candidates, meaning)) for path, meaning in single.items()
    }
    for start, end in find_periods(list(single.values())).items():
        first, last = fields[start], fields[end]
        starts, ends = first.scores.copy(), last.scores.copy()
        # A pair that is written as one shares what speaks for either.
        together = np.zeros(len(first.candidates), np.bool_)
        for index, (candidate, following) in enumerate(pairwise(first.candidates)):
            if candidate.role == "start" and following.role == "end":
                starts[index] = ends[index + 1] = 0.5 * (starts[index] + ends[index + 1]) + _PAIR
                together[index : index + 2] = True
        starts[~together] -= _ALONE
        ends[~together] -= _ALONE
        fields[start], fields[end] = replace(first, scores=starts), replace(last, scores=ends)
    return fields


def find_periods(meanings: Sequence[FieldMeaning]) -> dict[str, str]:
    """The fields that are the two ends of one period: path of the start to path of the end."""
    stems: dict[str, dict[str, list[str]]] = {"start": {}, "end": {}}
    for meaning in meanings:
        if meaning.role and meaning.form == "date":
            words = words_of(meaning.path.replace("_", " "))
            stems[meaning.role][meaning.path] = [word for word in words if word not in ("start", "end")]
    starts, ends = stems["start"], stems["end"]
    periods: dict[str, str] = {}
    for start, words in starts.items():
        matches = [end for end, others in ends.items() if others == words]
        if not matches and len(starts) == len(ends) == 1:
            # `begin` and `valid_until` are one period, `first_payment` and `valid_until` are not.
            matches = [end for end, others in ends.items() if not (_telling(words) and _telling(others))]
        if matches:
            periods[start] = matches[0]
    return periods


def _telling(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in GENERIC]


def choose_values(fields: Mapping[str, Scored], periods: Mapping[str, str]) -> dict[str, Finding]:
    """The best value of each field, by path; no place serves two fields. periods: see `find_periods`."""
    named = {path: _are_named(field) for path, field in fields.items() if field.candidates}
    # A paper has a day of its own: of a field that no label names, it is suggested.
    chosen = {path: mask | (not mask.any() and _is_day(fields[path].meaning)) for path, mask in named.items()}
    best = {path: int(np.where(mask, fields[path].scores, -np.inf).argmax()) for path, mask in chosen.items()}
    for start, end in periods.items():
        if start in best and end in best:
            best[start], best[end] = _best_period(fields[start], fields[end])
    partners = {**periods, **{end: start for start, end in periods.items()}}
    taken: dict[Place, str] = {}
    findings: dict[str, Finding] = {}
    for path in sorted(best, key=lambda path: -float(fields[path].labels[best[path]])):
        field, index = fields[path], best[path]
        places = [(each.segment.index, each.start, each.stop) for each in field.candidates]
        is_free = [taken.get(place) in (None, partners.get(path)) for place in places]
        if not is_free[index]:
            index = int(np.where(is_free & chosen[path], field.scores, -np.inf).argmax())
        if is_free[index] and field.scores[index] > field.meaning.null and chosen[path][index]:
            taken[places[index]] = path
            scores: list[float] = field.scores.tolist()
            finding = finding_among(field.candidates, scores, index, null=field.meaning.null)
            findings[path] = replace(
                finding,
                named=float(field.labels[index]),
                is_under_label=is_under_label(field.meaning, field.candidates[index]),
                is_contradicted=is_contradicted(field.meaning, field.candidates[index])
                or is_of_several_currencies(field, index),
                is_ambiguous=is_named_weakly(field.meaning, field.candidates[index])
                or has_equal_label(field, index)
                or not named[path][index],
                is_checked=field.candidates[index].form == "standard number"
                and field.candidates[index].marked,
            )
    return findings


def _are_named(field: Scored) -> NDArray[np.bool_]:
    """Of each candidate, whether a label, its form or learned weights show that it is this field's."""
    meaning = field.meaning
    if field.is_taught or meaning.form in (*CHECKED, "choice"):
        return np.ones(len(field.candidates), np.bool_)
    by_form = [
        needs_no_label(candidate) or (is_whole(meaning) and not candidate.plain)
        for candidate in field.candidates
    ]
    named = np.array(by_form, np.bool_) | (field.scores > _SURE) | (field.labels >= _NAMED)
    # Where the best candidate is not named, a worse one must be named well.
    return named if named[field.scores.argmax()] else named & (field.labels >= _NAMED_WELL)


def _is_day(meaning: FieldMeaning) -> bool:
    """True for a field that is called no more than `date`."""
    return meaning.form == "date" and set(words_of(meaning.path.replace("_", " "))) <= {"date"}


def _best_period(start: Scored, end: Scored) -> tuple[int, int]:
    """Indices of the best start and end; where possible, the start is not after the end."""
    firsts, lasts = cast("list[Sequence[Candidate[date]]]", [start.candidates, end.candidates])
    leading: list[list[int]] = [
        np.argsort(-field.scores, kind="stable")[:_RIVALS].tolist() for field in (start, end)
    ]
    ordered = [pair for pair in product(*leading) if firsts[pair[0]].value <= lasts[pair[1]].value]
    best = leading[0][0], leading[1][0]
    if best in ordered or not ordered:
        return best
    _, first, last = max((float(start.scores[i] + end.scores[j]), i, j) for i, j in ordered)
    return first, last


def labelled_findings(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """The values of the fields listed in the file of a built-in type, by path.

    A field with labels takes only values beside one of them that do not start with another label. A code must
    follow its label in the same segment, or end its own segment: elsewhere it may be a postcode. It is no
    amount, and no slash follows it. A text is more than a reference.
    """
    meanings = _meanings_of_type(document_type)
    if not meanings:
        return {}
    labels = {alias for meaning in meanings.values() for alias in meaning.aliases}
    fields = score_fields(candidates, meanings)
    for path, field in fields.items():
        if not field.meaning.aliases:
            continue
        kept: list[int] = []
        for index, candidate in enumerate(field.candidates):
            words = tuple(spelling_of(str(candidate.value)))
            begins_with_label = any(words[:count] in labels for count in range(1, len(words) + 1))
            is_free_or_near = (
                field.meaning.form != "code"
                or candidate.around.before
                or candidate.stop >= len(candidate.segment.text.rstrip())
            )
            is_other = field.meaning.form == "code" and (
                may_be_amount(str(candidate.value)) or candidate.segment.text.startswith("/", candidate.stop)
            )
            is_other |= field.meaning.form == "text" and is_reference(str(candidate.value))
            if field.labels[index] > 0 and not begins_with_label and is_free_or_near and not is_other:
                kept.append(index)
        fields[path] = field.only(kept)
    return choose_values(fields, find_periods(list(meanings.values())))


@cache
def _meanings_of_type(document_type: DocumentType) -> dict[str, FieldMeaning]:
    """The meaning of each field by its labels; where it has none, by the words of its name."""
    definition = DEFINITIONS[document_type]
    is_ruled = definition.read_by == "rules"
    fields = [
        field
        for field in outline(REGISTRY[document_type])
        if field.path in definition.fields
        and (field.labels or not (is_ruled and definition.fields[field.path].read_as))
    ]
    # Names that share a word (`invoice number`) would take each other's values.
    return {
        field.path: replace(meaning_of(field), words={}, labels={}, terms={}, _is_hint={}, _strengths={})
        if field.labels
        else replace(meaning_of(field), terms={}, _is_hint={}, _strengths={})
        for field in fields
    }


def value_for_kind(finding: Finding, meaning: FieldMeaning) -> object:
    """The value in the Python type of the field; None if it has no such value."""
    value = finding.value
    as_read = " ".join(span.text for span in finding.spans)
    if meaning.kind == "text":
        text = cleaned(str(value) if isinstance(value, str) else as_read, plain=False)
        return _without_address(text) if meaning.form == "name" else text
    if meaning.kind == "integer" and isinstance(value, Decimal):
        is_count = value == value.to_integral_value() and not _MONEY.search(as_read)
        return int(value) if is_count else None
    if meaning.kind == "boolean":
        return value == "true"
    if meaning.kind == "datetime" and isinstance(value, date):
        return f"{value.isoformat()}T00:00:00"
    return value


def _without_address(name: str) -> str:
    """A name without the address behind it: `Ingrid Solberg, Lindenweg 2, 04109 Leipzig`."""
    first, comma, rest = name.partition(", ")
    is_address = _POSTCODE.search(rest) or ends_in_place(name)
    return first if comma and is_address and not any(map(str.isdecimal, first)) else name
