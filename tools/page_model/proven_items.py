"""Items of real receipts that nobody has labelled: read by rule, and taken where their sum proves them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Receipt
from docmill.understanding.offline import extract
from tools.page_model.samples import ITEMS
from tools.page_model.weak_labels import Value

UNSURE = tuple(role for role in ITEMS if role not in {"items.description", "items.amount"})
"""Roles of items that a proven list may have missed on some rows: no sum speaks for quantities."""
_FEWEST = 2
"""Rows without a known number of items; a single row is too often the total itself."""


def proven_items(
    document: Document, totals: Sequence[Decimal], count: int | None = None
) -> list[Mapping[str, Value]]:
    """The items on the first page if they add up to one of the totals; none otherwise.

    count: the number of items, where somebody counted them.
    """
    data = extract(replace(document, pages=document.pages[:1]), REGISTRY["receipt"]).data
    assert isinstance(data, Receipt)
    rows = data.lines
    amounts = [row.net_amount for row in rows if row.net_amount and row.description]
    is_counted = len(rows) == count if count is not None else len(rows) >= _FEWEST
    if not is_counted or len(amounts) < len(rows) or sum(amounts) not in totals:
        return []
    values = (row.model_dump(include={"description", "quantity", "unit_price", "net_amount"}) for row in rows)
    return [{name: value for name, value in row.items() if value is not None} for row in values]
