"""Formulas without results: the values that could be those of neighbouring cells are withheld."""

from collections.abc import Iterator
from decimal import Decimal

from docmill.model.cells import is_without_result
from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Schema, Suggestion
from docmill.schemas.filling import replace_values
from docmill.understanding.tables.find import has_own_tables

UNCALCULATED = (
    "Some formulas of the file have no result, since no program has calculated them, or an error instead. "
    "Open the file in a spreadsheet program, see whether its amounts are right, save it, and add it again."
)
_OF_OWN_COLUMN = ("quantity", "unit_price", "tax_rate", "position")
"""Numbers of items that are given, and not calculated."""


def rows_without_result(document: Document) -> Iterator[tuple[int, float, float]]:
    """The page, top and bottom of each cell whose formula has no result."""
    if not has_own_tables(document):
        return
    for page in document.pages:
        for word, box in zip(page.words.texts, page.words.boxes, strict=True):
            if is_without_result(word):
                yield page.number, float(box[1]), float(box[3])


def withhold_neighbours(document: Document, extraction: Extraction, schema: Schema) -> Extraction:
    """The extraction with null for amounts that may stand in for missing results; they become suggestions.

    A total is missing where its formula has no result, and another number would be taken for it. So no amount
    of the whole document is believed, nor one in the row of such a cell.
    """
    rows = list(rows_without_result(document))
    if not rows:
        return extraction
    withheld: dict[str, None] = {}
    suggestions = dict(extraction.suggestions)
    for path, value in leaves(extraction.data):
        proof = extraction.evidence.get(path)
        if not isinstance(value, Decimal | float) or proof is None or proof.match == "embedded":
            continue
        if "[" in path and (path.endswith(_OF_OWN_COLUMN) or not _is_beside(proof, rows)):
            continue
        withheld[path] = None
        others = suggestions.get(path, ())
        half = proof.model_copy(update={"confidence": proof.confidence / 2})
        suggestions[path] = (Suggestion(value=str(value), evidence=half), *others)
    return replace_values(extraction, schema, withheld).model_copy(update={"suggestions": suggestions})


def _is_beside(proof: Evidence, rows: list[tuple[int, float, float]]) -> bool:
    """True for a value that stands in the row of a cell without a result."""
    if proof.box is None:
        return False
    middle = (proof.box.y0 + proof.box.y1) / 2
    return any(page == proof.page and top <= middle <= bottom for page, top, bottom in rows)
