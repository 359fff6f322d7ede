"""The rules on amounts: EN 16931, BR-CO-10 to BR-CO-16, BR-DEC, and Peppol's on lines."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from docmill.model.result import Failure
from docmill.understanding.einvoice.mapping import items
from docmill.understanding.einvoice.profiles import Level
from docmill.understanding.einvoice.terms import Terms

CENT = Decimal("0.01")
LINE_TOLERANCE = Decimal("0.02")
"""What Peppol's rule R120 allows."""
_NIL = Decimal(0)
_AMOUNTS = ("BT-106", "BT-107", "BT-108", "BT-109", "BT-110", "BT-112", "BT-113", "BT-114", "BT-115")


def sums(terms: Terms, level: Level) -> Iterator[Failure]:
    """Totals that are not what they are made of. What is missing is not judged here."""
    if level in ("en16931", "without_lines"):
        yield from _of_lines(terms)
        yield from _of_charges(terms)
        yield from _due(terms)
    if level != "minimum":
        yield from _net(terms)
    yield from _gross(terms)
    if level in ("en16931", "without_lines"):
        yield from _decimals(terms)


def _of_lines(terms: Terms) -> Iterator[Failure]:
    amounts = [line.number("BT-131") for line in items(terms)]
    given = terms.number("BT-106")
    known = [amount for amount in amounts if amount is not None]
    if given is None or not known or len(known) < len(amounts):
        return
    total = sum(known, _NIL)
    if abs(total - given) >= CENT:
        message = f"The lines make {total}, but the XML says {given} for their sum (BT-106)."
        yield Failure(check="BR-CO-10", message=message, fields=("net_total", "lines"))


def _of_charges(terms: Terms) -> Iterator[Failure]:
    for rule, number, groups, worth, name in (
        ("BR-CO-11", "BT-107", ("BG-20",), "BT-92", "allowances"),
        ("BR-CO-12", "BT-108", ("BG-21", "logistics"), "BT-99", "charges"),
    ):
        amounts = [one.number(worth) or _NIL for group in groups for one in terms.all(group)]
        given, total = terms.number(number) or _NIL, sum(amounts, _NIL)
        if abs(total - given) >= CENT:
            message = f"The {name} make {total}, but the XML says {given} for their sum ({number})."
            yield Failure(check=rule, message=message, fields=("net_total",))


def _net(terms: Terms) -> Iterator[Failure]:
    lines, net = terms.number("BT-106"), terms.number("BT-109")
    if lines is None or net is None:
        return
    allowances, charges = terms.number("BT-107") or _NIL, terms.number("BT-108") or _NIL
    if abs(lines - allowances + charges - net) >= CENT:
        message = (
            f"Lines of {lines}, less allowances of {allowances}, plus charges of {charges}, make "
            f"{lines - allowances + charges}, but the total without VAT (BT-109) is {net}."
        )
        yield Failure(check="BR-CO-13", message=message, fields=("net_total",))


def _gross(terms: Terms) -> Iterator[Failure]:
    net, gross = terms.number("BT-109"), terms.number("BT-112")
    tax = terms.number("BT-110") or _NIL
    if net is None or gross is None or abs(net + tax - gross) < CENT:
        return
    message = (
        f"The total without VAT (BT-109) {net} and the VAT (BT-110) {tax} make {net + tax}, but the "
        f"total with VAT (BT-112) is {gross}."
    )
    yield Failure(check="BR-CO-15", message=message, fields=("net_total", "tax_total", "gross_total"))


def _due(terms: Terms) -> Iterator[Failure]:
    gross, due = terms.number("BT-112"), terms.number("BT-115")
    if gross is None or due is None:
        return
    prepaid, rounding = terms.number("BT-113") or _NIL, terms.number("BT-114") or _NIL
    if abs(gross - prepaid + rounding - due) >= CENT:
        message = (
            f"Of the total {gross}, {prepaid} being prepaid and {rounding} rounding, "
            f"{gross - prepaid + rounding} is due, but the XML says {due} (BT-115)."
        )
        yield Failure(check="BR-CO-16", message=message, fields=("gross_total", "amount_due"))


def _decimals(terms: Terms) -> Iterator[Failure]:
    found = [(number, terms.number(number)) for number in _AMOUNTS]
    found += [("BT-131", line.number("BT-131")) for line in items(terms)]
    found += [(number, one.number(number)) for one in terms.all("BG-23") for number in ("BT-116", "BT-117")]
    for number, amount in found:
        if amount is not None and _places(amount) > 2:  # noqa: PLR2004 - cents
            yield Failure(
                check="BR-DEC", message=f"The amount {amount} ({number}) has more than two decimals."
            )


def _places(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def line_amounts(terms: Terms) -> Iterator[Failure]:
    """Lines that are not worth what quantity, price and charges make: Peppol's rule, not EN 16931's."""
    for index, line in enumerate(items(terms)):
        quantity, price, net = (line.number(number) for number in ("BT-129", "BT-146", "BT-131"))
        if quantity is None or price is None or net is None:
            continue
        worth = quantity * price / (line.number("BT-149") or 1)
        worth += _added(line.all("BG-28"), "BT-141") - _added(line.all("BG-27"), "BT-136")
        if abs(worth - net) > LINE_TOLERANCE:
            message = (
                f"Line {index + 1}: {quantity} at {price} make {worth:.2f}, but the XML says {net} (BT-131)."
            )
            yield Failure(
                check="PEPPOL-EN16931-R120", message=message, fields=(f"lines[{index}].net_amount",)
            )


def _added(groups: Sequence[Terms], number: str) -> Decimal:
    return sum((one.number(number) or _NIL for one in groups), _NIL)
