"""Values that nobody printed and that others give: sums, differences, products, and what is nought."""

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal

CENT = Decimal("0.01")
_LINE = re.compile(r"(?P<item>.*\[\d+\])\.(?P<leaf>\w+)$")

Amounts = Callable[[str], Decimal | None]


def computed(values: Mapping[str, object], found: AbstractSet[str]) -> frozenset[str]:
    """The paths whose values follow from values that were found on the pages.

    found: the paths of these. What is computed from computed values is not believed.
    """

    def amount(path: str) -> Decimal | None:
        value = values.get(path)
        return value if path in found and isinstance(value, Decimal) else None

    missing = ((path, value) for path, value in values.items() if path not in found)
    return frozenset(
        path
        for path, value in missing
        if isinstance(value, Decimal) and any(abs(one - value) <= CENT for one in _ways(path, amount, found))
    )


def _ways(path: str, amount: Amounts, found: AbstractSet[str]) -> Iterator[Decimal]:
    """What the value would be by each way to reckon it."""
    line = _LINE.match(path)
    if line is not None:
        yield from _of_line(line["item"], line["leaf"], amount)
        return
    net, tax, gross = amount("net_total"), amount("tax_total"), amount("gross_total")
    if path == "gross_total" and net is not None and tax is not None:
        yield net + tax
    if path == "net_total":
        if gross is not None and tax is not None:
            yield gross - tax
        lines = [other for other in found if re.fullmatch(r"lines\[\d+\]\.net_amount", other)]
        amounts = [one for one in map(amount, lines) if one is not None]
        if amounts:
            yield sum(amounts, Decimal(0))
    if path == "tax_total" and gross is not None and net is not None:
        yield gross - net
    if path == "amount_due" and gross is not None:
        yield gross


def _of_line(item: str, leaf: str, amount: Amounts) -> Iterator[Decimal]:
    quantity, price, net = (amount(f"{item}.{name}") for name in ("quantity", "unit_price", "net_amount"))
    if leaf == "net_amount" and quantity is not None and price is not None:
        yield quantity * price
    if leaf == "unit_price" and quantity and net is not None:
        yield net / quantity
    if leaf == "quantity" and price and net is not None:
        yield net / price
