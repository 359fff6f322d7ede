"""The rules on amounts: EN 16931, BR-CO-10 to BR-CO-16, BR-DEC, and Peppol's on lines."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from docmill.model.result import Failure
from docmill.understanding.einvoice.codelists import CATEGORIES, REASONED, UNTAXED, Level
from docmill.understanding.einvoice.mapping import items
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


TOLERANCE = Decimal(1)
"""What the published rules allow (BR-CO-17, BR-S-08), since VAT may be reckoned line by line."""
_NEEDED = (
    ("BR-45", "BT-116", "the amount that is taxed"),
    ("BR-46", "BT-117", "the tax"),
    ("BR-47", "BT-118", "the category"),
    ("BR-48", "BT-119", "the rate"),
)


def vat(terms: Terms, level: Level) -> Iterator[Failure]:
    """The failures of the VAT rules."""
    breakdown = terms.all("BG-23")
    if not breakdown:
        yield Failure(check="BR-CO-18", message="The VAT is not broken down.", fields=("tax_total",))
        return
    yield from _needed(terms)
    yield from _total(terms)
    for one in breakdown:
        yield from _one(one)
    yield from _who(terms)
    if level == "en16931":
        yield from _tax_of_lines(terms)


def _needed(terms: Terms) -> Iterator[Failure]:
    for one in terms.all("BG-23"):
        for rule, number, name in _NEEDED:
            if number not in one and not (number == "BT-119" and one.text("BT-118") == "O"):
                yield Failure(
                    check=rule,
                    message=f"The breakdown of the VAT lacks {name} ({number}).",
                    fields=("tax_total",),
                )


def _total(terms: Terms) -> Iterator[Failure]:
    given = terms.number("BT-110")
    total = sum((one.number("BT-117") or _NIL for one in terms.all("BG-23")), _NIL)
    if given is not None and abs(total - given) >= CENT:
        yield Failure(
            check="BR-CO-14",
            message=f"The VAT of all rates makes {total}, but the XML says {given} (BT-110).",
            fields=("tax_total",),
        )


def _one(terms: Terms) -> Iterator[Failure]:
    category = terms.text("BT-118")
    basis, tax, rate = (terms.number(number) for number in ("BT-116", "BT-117", "BT-119"))
    if category is not None and category not in CATEGORIES:
        yield Failure(
            check="BR-CL-17", message=f"{category!r} (BT-118) is no VAT category.", fields=("tax_total",)
        )
    if basis is not None and tax is not None and rate is not None:
        wanted = (basis * rate / 100).quantize(CENT, ROUND_HALF_UP)
        if abs(wanted - tax) >= TOLERANCE:
            message = f"{rate:f} % of {basis} is {wanted}, but the XML says {tax} of VAT (BT-117)."
            yield Failure(check="BR-CO-17", message=message, fields=("tax_total",))
    name = CATEGORIES.get(category or "")
    if category in UNTAXED and tax:
        message = f"No VAT is charged in category {category}, but the XML says {tax} (BT-117)."
        yield Failure(check=f"BR-{name}-09", message=message, fields=("tax_total",))
    if category in REASONED and "BT-120" not in terms and "BT-121" not in terms:
        message = f"The XML does not say why no VAT is charged in category {category} (BT-120)."
        yield Failure(check=f"BR-{name}-10", message=message, fields=("tax_total",))


def _who(terms: Terms) -> Iterator[Failure]:
    used = {one.text("BT-118") or "" for one in terms.all("BG-23")}
    if used & (CATEGORIES.keys() - {"O"}) and not any(
        number in terms for number in ("BT-31", "BT-32", "BT-63")
    ):
        name = min(CATEGORIES[category] for category in used if category in CATEGORIES)
        message = "VAT is spoken of, but the seller has no VAT or tax identifier (BT-31, BT-32)."
        yield Failure(check=f"BR-{name}-02", message=message, fields=("seller.vat_id",))
    if "K" in used and "BT-48" not in terms:
        message = "It is a supply within the European Union, but the buyer has no VAT identifier (BT-48)."
        yield Failure(check="BR-IC-02", message=message, fields=("buyer.vat_id",))
    if "K" in used and not any(number in terms for number in ("BT-72", "BT-73", "BT-74")):
        message = "It is a supply within the European Union, but the XML does not say when (BT-72)."
        yield Failure(check="BR-IC-11", message=message, fields=("delivery_date",))
    if "K" in used and "BT-80" not in terms:
        message = "It is a supply within the European Union, but the XML names no country it goes to (BT-80)."
        yield Failure(check="BR-IC-12", message=message)


def _tax_of_lines(terms: Terms) -> Iterator[Failure]:
    """Failures of rates whose taxed amount differs from the sum of their lines, allowances and charges."""
    made: defaultdict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for index, line in enumerate(items(terms)):
        category, rate = line.text("BT-151"), line.number("BT-152") or _NIL
        if category in UNTAXED and rate:
            yield Failure(
                check=f"BR-{CATEGORIES[category]}-05",
                message=f"Line {index + 1} is of category {category}, in which the rate is 0, not {rate}.",
                fields=(f"lines[{index}].tax_rate",),
            )
        made[category or "", rate] += line.number("BT-131") or _NIL
    for groups, worth, category_of, rate_of, sign in (
        (("BG-20",), "BT-92", "BT-95", "BT-96", -1),
        (("BG-21", "logistics"), "BT-99", "BT-102", "BT-103", 1),
    ):
        for one in (one for group in groups for one in terms.all(group)):
            key = one.text(category_of) or "", one.number(rate_of) or _NIL
            made[key] += sign * (one.number(worth) or _NIL)
    yield from _compared(terms, made)


def _compared(terms: Terms, made: defaultdict[tuple[str, Decimal], Decimal]) -> Iterator[Failure]:
    given = {
        (one.text("BT-118") or "", one.number("BT-119") or _NIL): one.number("BT-116") or _NIL
        for one in terms.all("BG-23")
    }
    for (category, rate), total in made.items():
        name = CATEGORIES.get(category)
        if name is None:
            continue
        if (category, rate) not in given:
            message = (
                f"Lines are of VAT category {category} at {rate:f} %, which the breakdown does not have."
            )
            yield Failure(check=f"BR-{name}-01", message=message, fields=("tax_total",))
        elif abs(given[category, rate] - total) >= TOLERANCE:
            basis = given[category, rate]
            message = f"At {rate:f} % VAT the lines make {total}, but the XML says {basis} (BT-116)."
            yield Failure(check=f"BR-{name}-08", message=message, fields=("net_total", "tax_total"))
