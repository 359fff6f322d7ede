"""The invoices that deals are made from: what is bought, at which prices, and from whom."""

import zlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from docmill.demo.catalogue import plans
from docmill.demo.plan import cents
from docmill.schemas.types import Invoice, Line

Part = Literal["train", "development", "test"]
"""The parts by vendor: six tenths, two tenths, two tenths."""

_PARTS: tuple[Part, ...] = (
    *("train", "train", "train", "train", "train", "train"),
    *("development", "development"),
    *("test", "test"),
)
_HIGHEST_PRICE = Decimal(20000)
_MOST_LINES = 8


def part_of(name: str) -> Part:
    """The part that a vendor belongs to, by a checksum of its name."""
    return _PARTS[zlib.crc32(" ".join(name.casefold().split()).encode()) % len(_PARTS)]


def made_up_seeds() -> list[Invoice]:
    """The invoices of the demo, for where no real ones are at hand."""
    invoices = [plan.truth for plan in plans() if plan.document_type == "invoice"]
    return [invoice for invoice in invoices if isinstance(invoice, Invoice)]


def usable_seeds(seeds: Sequence[Invoice], part: Part) -> list[Invoice]:
    """The seeds with at least one priced line, of this part by seller and first line; all if it has none."""
    usable = [seed for seed in map(_normalised, seeds) if seed.lines]
    key = [f"{seed.seller.name or seed.buyer.name} {seed.lines[0].description}" for seed in usable]
    return [seed for seed, name in zip(usable, key, strict=True) if part_of(name) == part] or usable


def _normalised(seed: Invoice) -> Invoice:
    """The seed with positive lines alone; its net total is the only line where it has none."""
    lines = [line for line in seed.lines if line.description and 0 < (line.unit_price or 0) <= _HIGHEST_PRICE]
    total = seed.net_total or seed.gross_total
    if not lines and total and 0 < total <= _HIGHEST_PRICE:
        description = "Services" if seed.contract_number is None else "Advertising airtime"
        lines = [Line(description=description, quantity=Decimal(1), unit_price=cents(total))]
    return seed.model_copy(update={"lines": tuple(lines[:_MOST_LINES])})
