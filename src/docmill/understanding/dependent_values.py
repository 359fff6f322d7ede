"""Values that depend on others which a person has corrected: computed from them, or read with a name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from docmill.model.paths import leaves, set_value, value_at
from docmill.model.result import Extraction, Failure, Schema, Suggestion
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.schemas.field_names import field_name, inside_sentence
from docmill.schemas.filling import filled
from docmill.schemas.registry import is_built_in
from docmill.understanding.constraints.same_party import is_same_party
from docmill.understanding.derivations import changed_derivations, is_same_result
from docmill.understanding.withholding import MOST_SUGGESTIONS, others_of_party

_ORDER = ("net_total", "tax_total", "gross_total", "amount_due", "opening_balance", "due_date")
"""Fields that may be computed, each behind those that it is computed from. The items stand before them."""

Values = Mapping[str, object]
"""Typed values by path."""


@dataclass(frozen=True, slots=True)
class DependentValues:
    """Values that nobody has reviewed and that change, or are withheld, because of corrections.

    values: by path, as JSON; None for a value that is withheld. suggestions: of fields without a value.
    failures: of the values that are withheld. refuted: what people replaced, as it was read, by path.
    """

    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    suggestions: Mapping[str, tuple[Suggestion, ...]] = field(
        default_factory=dict[str, tuple[Suggestion, ...]]
    )
    failures: tuple[Failure, ...] = ()
    refuted: Mapping[str, Any] = field(default_factory=dict[str, Any])


NO_DEPENDENT_VALUES = DependentValues()


class _Change(NamedTuple):
    """A computed value that does not hold any more. value: the new one; None if there is none.

    sources: the paths of the values that have changed.
    """

    path: str
    value: Decimal | date | None
    sources: Sequence[str]


def find_dependent_values(
    read: Extraction, data: Mapping[str, Any], reviewed: AbstractSet[str], schema: Schema
) -> DependentValues:
    """Find the values that change, or are withheld, because of a person's corrections.

    read: as it was before any review. data: the values with the reviews, as JSON. reviewed: the paths of the
    values that a person has confirmed, corrected or cleared; they stay as they are.
    """
    as_read = dict(leaves(_with_suggestions(read, schema)))
    now = dict(leaves(filled(schema.fields, data)))
    refuted = {path: value for path, value in as_read.items() if path in reviewed and now.get(path) != value}
    if not refuted:
        return NO_DEPENDENT_VALUES
    computed = sorted(_computed_paths(read, as_read.keys() - reviewed), key=_rank)
    values: dict[str, Any] = {}
    suggestions: dict[str, tuple[Suggestion, ...]] = {}
    failures: list[Failure] = []
    for change in _follow(computed, as_read, now, reviewed):
        path, value = change.path, to_jsonable_python(change.value)
        others = read.suggestions.get(path, ())
        if path not in read.evidence:  # it was withheld before
            if value is not None:
                suggestions[path] = (others[0].model_copy(update={"value": value}), *others[1:])
            continue
        values[path] = value
        if value is None:
            suggestions[path] = (_doubted(read, path), *others)[:MOST_SUGGESTIONS]
            failures.append(_failure(schema, change, as_read[path]))
    for name, others in _renamed_parties(read, refuted, now, schema):
        if paths := tuple(path for path in others if path not in reviewed):
            values |= dict.fromkeys(paths)
            suggestions |= {path: (_doubted(read, path),) for path in paths}
            failures.append(_failure_of_party(schema, paths, str(as_read[name])))
    return DependentValues(values, suggestions, tuple(failures), refuted)


def _with_suggestions(read: Extraction, schema: Schema) -> BaseModel:
    """The values that were read, with the first suggestion of each field that is null."""
    data: dict[str, Any] = read.data.model_dump(mode="json", warnings=False)
    for path, suggestions in read.suggestions.items():
        if suggestions and value_at(data, path) is None:
            set_value(data, path, suggestions[0].value)
    return filled(schema.fields, data)


def _computed_paths(read: Extraction, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        suggestions = read.suggestions.get(path)
        proof = read.evidence.get(path) or (suggestions[0].evidence if suggestions else None)
        if proof is not None and proof.match == "computed":
            yield path


def _rank(path: str) -> tuple[int, str]:
    return (_ORDER.index(path) if path in _ORDER else -1, path)


def _follow(
    computed: Sequence[str], as_read: Values, before: Values, reviewed: AbstractSet[str]
) -> Iterator[_Change]:
    """Yield the computed values that do not follow any more from the others.

    They are computed anew, from what a person reviewed if that is enough. Of a sum, everything else must have
    been reviewed: the check of the sum would not see any more that another part of it is wrong.
    """
    now = dict(before)
    certain = set(reviewed)
    changed = {path for path in as_read if path in reviewed and now.get(path) != as_read[path]}
    for path in computed:
        old = as_read[path]
        rules = [way for way in changed_derivations(path, as_read, as_read) if is_same_result(way.value, old)]
        sources = sorted({source for way in rules for source in way.sources if source in changed})
        if not sources:
            continue
        names = {way.rule for way in rules}
        ways = [way for way in changed_derivations(path, now, as_read) if way.rule in names]
        by_reviewed = {way.value for way in ways if certain.issuperset(way.sources)}
        if any(is_same_result(value, old) for value in by_reviewed or {way.value for way in ways}):
            continue
        sure = by_reviewed or {way.value for way in ways if not way.is_sum}
        value = sure.pop() if len(sure) == 1 else None
        changed.add(path)
        if value is None:
            now.pop(path, None)
        else:
            now[path] = value
            certain.add(path)
        yield _Change(path, value, sources)


def _renamed_parties(
    read: Extraction, refuted: Values, now: Values, schema: Schema
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the path of each name that is now another party's, with the paths that were read with it.

    The address and VAT number on a receipt are those of the shop whatever its name, and an XML says whose
    they are.
    """
    if DEFINITIONS[known_type(schema.name)].is_till_paper:
        return
    for path, name in refuted.items():
        others = others_of_party(path, read.evidence)
        if not isinstance(name, str) or is_same_party(name, str(now.get(path) or "")):
            continue
        yield path, [other for other in others if read.evidence[other].match != "embedded"]


def _doubted(read: Extraction, path: str) -> Suggestion:
    """The value that was read, as a suggestion of half its belief."""
    proof = read.evidence[path]
    value = value_at(read.data.model_dump(mode="json", warnings=False), path)
    return Suggestion(value=value, evidence=proof.model_copy(update={"confidence": proof.confidence / 2}))


def _failure(schema: Schema, change: _Change, value: object) -> Failure:
    fields = None if is_built_in(schema) else schema.fields
    sources = " and ".join(inside_sentence(field_name(source, fields)) for source in change.sources)
    named = f"{field_name(change.path, fields)} {value}"
    message = f"{named} was computed before a person corrected the {sources}; please look at it."
    return Failure(check="dependent", message=message, fields=(change.path,))


def _failure_of_party(schema: Schema, paths: tuple[str, ...], name: str) -> Failure:
    fields = None if is_built_in(schema) else schema.fields
    names = [field_name(path, fields) for path in paths]
    listed = " and ".join((names[0], *map(inside_sentence, names[1:])))
    was, them = ("was", "it") if len(paths) == 1 else ("were", "them")
    message = f"{listed} {was} read with the name {name!r}, which a person corrected; please look at {them}."
    return Failure(check="dependent", message=message, fields=paths)
