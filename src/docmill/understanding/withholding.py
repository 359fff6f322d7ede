"""Withholding: values that are believed too little become null, and suggestions to a person."""

from collections.abc import Iterable, Mapping
from datetime import date

from docmill.model.paths import value_at, without_indices
from docmill.model.result import Evidence, Extraction, Schema, Suggestion, Verdict
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.schemas.filling import replace_values
from docmill.schemas.registry import is_built_in

MOST_SUGGESTIONS = 3
"""Values that are suggested for one field."""
FLOOR = 0.85
"""The floor of a field without one of its own: the least confidence with which its value is data."""
FLOOR_OF_OWN = 0.8
"""The same for the fields of a user's schema, whose beliefs are too modest: bench/results/trust.md."""
_FLOOR_OF_SHARES = 0.0
"""The same for values in lists whose confidence is no calibrated belief: of tills and of users' schemas."""

_NAME = ".name"
_PARTS_OF_ADDRESS = ("address", "street", "city", "town", "postcode", "zip", "zip_code", "country")
_TAX_NUMBERS = ("vat_id", "vat_number", "vat_no", "tax_id", "tax_number", "tax_no")
_READ_WITH_NAME = frozenset((*_PARTS_OF_ADDRESS, *_TAX_NUMBERS))
"""Names of the fields of a party that were read beside its name."""
_OF_ROWS = ("line_amount", "line_quantity", "lines_sum", "lines_missing", "bookings_sum")


def floor_of(schema: Schema, path: str) -> float:
    """The lowest belief at which the value of this path is data."""
    field, definition = without_indices(path), DEFINITIONS[known_type(schema.name)]
    if not is_built_in(schema):
        usual = _FLOOR_OF_SHARES if "[]" in field else FLOOR_OF_OWN
    else:
        usual = _FLOOR_OF_SHARES if "[]" in field and definition.is_till_paper else FLOOR
    return definition.floors.get(field, usual)


def is_below_floor(schema: Schema, path: str, evidence: Evidence) -> bool:
    """Return whether the belief in a value is below its floor. Values of an XML have no floor."""
    return evidence.match != "embedded" and evidence.confidence < floor_of(schema, path)


def still_failed(before: Verdict, after: Verdict, extraction: Extraction) -> Verdict:
    """The verdict after withholding, with earlier failures of rows that lost a value.

    extraction: without the withheld values. A row that contradicted itself or its sum still needs a person,
    although its doubtful value is null now and the check of the row no longer fails.
    """
    checks = {failure.check for failure in after.failures}
    gone = [
        failure
        for failure in before.failures
        if failure.check in _OF_ROWS
        and failure.check not in checks
        and any("[" in path and path in extraction.suggestions for path in failure.fields)
    ]
    return Verdict(failures=(*after.failures, *gone)) if gone else after


def withhold(extraction: Extraction, schema: Schema) -> Extraction:
    """The extraction with null for values below their floors; each becomes the first suggestion of its field.

    Fields that have a value keep no suggestions. Address and VAT identifier go with the name above them:
    whether they are the seller's or the buyer's hangs on the same doubt.
    """
    below = {
        path: proof for path, proof in extraction.evidence.items() if is_below_floor(schema, path, proof)
    }
    if not DEFINITIONS[known_type(schema.name)].is_till_paper:
        named = [name for name in below if name.endswith(_NAME)]
        others = {path for name in named for path in others_of_party(name, extraction.evidence)}
        below |= {path: extraction.evidence[path] for path in others}
    data = extraction.data.model_dump(mode="json") if below else {}
    suggestions = {
        path: others for path, others in extraction.suggestions.items() if path not in extraction.evidence
    } | {
        path: (Suggestion(value=value_at(data, path), evidence=proof), *extraction.suggestions.get(path, ()))
        for path, proof in below.items()
    }
    withheld = replace_values(extraction, schema, dict.fromkeys(below))
    return withheld.model_copy(
        update={"suggestions": {path: some[:MOST_SUGGESTIONS] for path, some in suggestions.items()}}
    )


def others_of_party(name: str, paths: Iterable[str]) -> list[str]:
    """Those of the paths that are what else is known of a party: its address and VAT number.

    name: the path of its name, such as `seller.name`, or in a user's schema `supplier_name` or `supplier`.
    """
    stem = name.removesuffix("name") if name.endswith((_NAME, "_name")) else f"{name}_"
    return [path for path in paths if path.startswith(stem) and path.removeprefix(stem) in _READ_WITH_NAME]


def withhold_ambiguous(extraction: Extraction, schema: Schema, other_days: Mapping[str, date]) -> Extraction:
    """The extraction with null for dates that may be two days; both become suggestions of half the belief.

    other_days: by path, the day that the date was not read as. Dates in lists stay, since one answer settles
    all of them; they have both suggestions, too.
    """
    if not other_days:
        return extraction
    data = extraction.data.model_dump(mode="json")
    suggestions = dict(extraction.suggestions)
    for path, other in other_days.items():
        proof = extraction.evidence[path]
        half = proof.model_copy(update={"confidence": proof.confidence / 2})
        days = (value_at(data, path), other.isoformat())
        suggestions[path] = tuple(Suggestion(value=day, evidence=half) for day in days)
    single = [path for path in other_days if "[" not in path]
    withheld = replace_values(extraction, schema, dict.fromkeys(single)) if single else extraction
    return withheld.model_copy(update={"suggestions": suggestions})
