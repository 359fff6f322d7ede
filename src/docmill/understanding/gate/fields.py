"""Checks of single values: missing, doubtful, of a wrong form, or not printed where they were read."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal

import numpy as np
from babel.numbers import list_currencies
from pydantic import ValidationError

from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves, path_of
from docmill.model.result import Evidence, Failure
from docmill.schemas.outline import outline
from docmill.schemas.registry import is_built_in
from docmill.understanding.formulas import UNCALCULATED, rows_without_result
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.statement_files import is_unneeded
from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id
from docmill.understanding.withholding import is_below_floor

LARGEST = Decimal(10) ** 15
"""Amounts from here on are misread, in any currency."""
EARLIEST, LATEST = date(1990, 1, 1), date(2079, 12, 31)

_MOST_FIELDS = 0.5
"""Share of a user's fields that a document is read with where no field is critical."""
_EARLIEST_OF_OWN = date(1900, 1, 1)
"""A user's schema may have days of birth."""

_CURRENCIES = frozenset(list_currencies())
_IS_VALID_CODE: Mapping[str, Callable[[str], bool]] = {
    "iban": is_iban,
    "bic": is_bic,
    "vat_id": is_vat_id,
    "currency": _CURRENCIES.__contains__,
}
"""By the last part of a path, which is also the name of the check."""


def check_schema(judged: GateInput) -> Iterator[Failure]:
    """Failures of the schema's own validation, and of critical values that are missing, each by its name."""
    schema, values = judged.schema, judged.values
    try:
        schema.fields.model_validate(
            judged.extraction.data.model_dump(warnings=False), by_alias=True, by_name=True
        )
    except ValidationError as error:
        paths = (path_of(detail["loc"]) for detail in error.errors())
        wrong = tuple(path for path in paths if path in values or path not in schema.critical)
        if wrong:
            message = "Some fields do not have the form they must have."
            yield Failure(check="schema", message=message, fields=wrong)
    except Exception:  # noqa: BLE001 - a user's rule may raise anything, over a null above all
        yield Failure(check="schema", message="A rule of the schema itself fails on these values.")
    for path in schema.critical:
        if path in values or is_unneeded(judged.document, path):
            continue
        if path in judged.extraction.suggestions:
            yield _uncertain(judged, path)
        else:
            message = f"{judged.name(path)} was not found."
            yield Failure(check="critical_missing", message=message, fields=(path,))


def check_withheld(judged: GateInput) -> Iterator[Failure]:
    """Failures of fields that are null because their values are below the floor.

    They apply to users' schemas that mark no field as critical; other schemas check their critical fields.
    """
    if judged.schema.critical or is_built_in(judged.schema):
        return
    for path in judged.extraction.suggestions:
        if path not in judged.values:
            yield _uncertain(judged, path)


_ROUNDED = 1e-4
"""Difference of boxes that were stored, at most."""


def check_found(judged: GateInput) -> Iterator[Failure]:
    """A failure of a document that none of the values of a user's schema was found on."""
    if is_built_in(judged.schema) or judged.schema.critical or judged.extraction.suggestions:
        return
    if next(leaves(judged.extraction.data.model_dump(warnings=False)), None) is None:
        yield Failure(check="no_values", message="No value was found for any field of the schema.")


def check_few_values(judged: GateInput) -> Iterator[Failure]:
    """A failure of a document on which most fields of a user's schema have no believed value.

    It applies to schemas that mark no field as critical.
    """
    if is_built_in(judged.schema) or judged.schema.critical:
        return
    paths = [field.path for field in outline(judged.schema) if not field.is_listed]
    read = [path for path in paths if path in judged.values]
    if read and len(read) < _MOST_FIELDS * len(paths):
        message = f"Only {len(read)} of {len(paths)} fields were read; please look for the others."
        missing = tuple(path for path in paths if path not in judged.values)
        yield Failure(check="few_values", message=message, fields=missing)


def check_formulas(judged: GateInput) -> Iterator[Failure]:
    """A failure of a file with formulas that no program has calculated, or that have an error as result."""
    if next(rows_without_result(judged.document), None) is not None:
        yield Failure(check="formulas", message=UNCALCULATED)


def check_ranges(judged: GateInput) -> Iterator[Failure]:
    """Failures of amounts and dates that cannot be true."""
    for path, value in judged.values.items():
        if isinstance(value, Decimal) and not abs(value) < LARGEST:
            message = f"{judged.name(path)} is too large to be true."
            yield Failure(check="amount_range", message=message, fields=(path,))
    for path, day in judged.days.items():
        earliest = EARLIEST if judged.own_fields is None else _EARLIEST_OF_OWN
        if not earliest <= day <= LATEST:
            message = f"{judged.name(path)} {day} is not a likely date."
            yield Failure(check="date_range", message=message, fields=(path,))


def check_codes(judged: GateInput) -> Iterator[Failure]:
    """Failures of codes with a wrong character, and of values that are not at their place on the page."""
    for path, value in judged.values.items():
        name = path.rpartition(".")[2]
        if name in _IS_VALID_CODE and isinstance(value, str) and not _IS_VALID_CODE[name](value):
            message = f"{judged.name(path)} {value!r} is not valid: a character is wrong or missing."
            yield Failure(check=name, message=message, fields=(path,))
    for path in judged.values:
        evidence = judged.extraction.evidence.get(path)
        if evidence is None or not _is_printed(judged.document, evidence):
            message = f"{judged.name(path)} was not found on the page."
            yield Failure(check="evidence", message=message, fields=(path,))


def check_confidence(judged: GateInput) -> Iterator[Failure]:
    """Failures of values outside of lists that are believed less than their floors."""
    for path in judged.values:
        evidence = judged.extraction.evidence.get(path)
        if "[" not in path and evidence is not None and is_below_floor(judged.schema, path, evidence):
            yield _uncertain(judged, path)


def _uncertain(judged: GateInput, path: str) -> Failure:
    message = f"{judged.name(path)} is uncertain; please look at it."
    return Failure(check="confidence", message=message, fields=(path,))


def _is_printed(document: Document, evidence: Evidence) -> bool:
    """Return whether the text is at its place on the page; computed and embedded values have no place."""
    if evidence.match in ("computed", "embedded"):
        return evidence.page is None
    box = evidence.box
    page = next((page for page in document.pages if page.number == evidence.page), None)
    if evidence.match == "coded":
        codes = page.codes if page is not None and box is not None else ()
        return any(np.allclose(code.box, box, atol=_ROUNDED) for code in codes if box)
    if page is None or box is None or not evidence.text or evidence.match == "none":
        return False
    boxes = page.words.boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    # The place may be a part of a word, where two values are glued together.
    middle_x, middle_y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    inside |= (
        (boxes[:, 0] <= middle_x)
        & (middle_x <= boxes[:, 2])
        & (boxes[:, 1] <= middle_y)
        & (middle_y <= boxes[:, 3])
    )
    letters = letters_and_digits("".join(page.words.texts[index] for index in np.flatnonzero(inside)))
    return all(letters_and_digits(word) in letters for word in evidence.text.split())
