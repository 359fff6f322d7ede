"""The rules on amounts: EN 16931's on totals, decimals and VAT, and Peppol's on lines."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal

from docmill.model.result import Failure
from docmill.understanding.einvoice.codelists import CATEGORIES, REASONED, UNTAXED, Level
from docmill.understanding.einvoice.mapping import item_lines
from docmill.understanding.einvoice.terms import TermValues
from docmill.understanding.text.money import CENT

LINE_TOLERANCE = Decimal("0.02")
"""Peppol's, in its rule R120."""
VAT_TOLERANCE = Decimal(1)
"""Tolerance of the published rules (BR-CO-17, BR-S-08), since VAT may be calculated line by line."""
_ZERO = Decimal(0)
_WIDE = Context(prec=60)
"""For the product of two numbers with all digits that a term may have."""
_AMOUNTS = ("BT-106", "BT-107", "BT-108", "BT-109", "BT-110", "BT-112", "BT-113", "BT-114", "BT-115")
_DECIMALS = 2
_CHARGES = (
    ("BR-CO-11", "BT-107", "allowances", ("BG-20",), ("BT-92", "BT-95", "BT-96"), -1),
    ("BR-CO-12", "BT-108", "charges", ("BG-21", "logistics"), ("BT-99", "BT-102", "BT-103"), 1),
)
"""Rule, term of the sum, name, groups, terms of amount, VAT category and rate, sign in the total."""
_BREAKDOWN = (
    ("BR-45", "BT-116", "the amount that is taxed"),
    ("BR-46", "BT-117", "the tax"),
    ("BR-47", "BT-118", "the category"),
    ("BR-48", "BT-119", "the rate"),
)
_COMMUNITY_SUPPLY = (
    ("BR-IC-02", ("BT-48",), "the buyer has no VAT identifier (BT-48)", ("buyer.vat_id",)),
    ("BR-IC-11", ("BT-72", "BT-73", "BT-74"), "the XML does not say when (BT-72)", ("delivery_date",)),
    ("BR-IC-12", ("BT-80",), "the XML names no country it goes to (BT-80)", ()),
)
"""Rule, terms of which one is needed, what is wrong, fields."""


def check_totals(terms: TermValues, level: Level) -> Iterator[Failure]:
    """Yield a failure for each total that is not the sum of its parts, and for amounts of over two decimals.

    Source: EN 16931-1, rules BR-CO-10 to 13, 15, 16 and BR-DEC. level: the fewer terms it has, the fewer
    rules are checked. A missing amount is no failure here.
    """
    is_strict = level in ("en16931", "without_lines")
    lines, net, gross, due = map(terms.number, ("BT-106", "BT-109", "BT-112", "BT-115"))
    allowances, charges, tax, prepaid, rounding = (
        terms.number(number) or _ZERO for number in ("BT-107", "BT-108", "BT-110", "BT-113", "BT-114")
    )
    if is_strict:
        yield from _check_parts(terms)
    if is_strict and gross is not None and due is not None and abs(gross - prepaid + rounding - due) >= CENT:
        message = (
            f"Of the total {gross}, {prepaid} being prepaid and {rounding} rounding, "
            f"{gross - prepaid + rounding} is due, but the XML says {due} (BT-115)."
        )
        yield Failure(check="BR-CO-16", message=message, fields=("gross_total", "amount_due"))
    if level != "minimum" and lines is not None and net is not None:
        total = lines - allowances + charges
        if abs(total - net) >= CENT:
            message = (
                f"Lines of {lines}, less allowances of {allowances}, plus charges of {charges}, make "
                f"{total}, but the total without VAT (BT-109) is {net}."
            )
            yield Failure(check="BR-CO-13", message=message, fields=("net_total",))
    if net is not None and gross is not None and abs(net + tax - gross) >= CENT:
        message = (
            f"The total without VAT (BT-109) {net} and the VAT (BT-110) {tax} make {net + tax}, but the "
            f"total with VAT (BT-112) is {gross}."
        )
        yield Failure(check="BR-CO-15", message=message, fields=("net_total", "tax_total", "gross_total"))
    if is_strict:
        yield from _check_decimals(terms)


def _check_parts(terms: TermValues) -> Iterator[Failure]:
    """Failures of the sums of lines, allowances and charges."""
    amounts = [line.number("BT-131") for line in item_lines(terms)]
    stated, total = terms.number("BT-106"), sum(filter(None, amounts), _ZERO)
    if stated is not None and amounts and None not in amounts and abs(total - stated) >= CENT:
        message = f"The lines make {total}, but the XML says {stated} for their sum (BT-106)."
        yield Failure(check="BR-CO-10", message=message, fields=("net_total", "lines"))
    for rule, number, name, groups, (amount, _, _), _ in _CHARGES:
        charges = [charge.number(amount) or _ZERO for group in groups for charge in terms.all(group)]
        stated, total = terms.number(number) or _ZERO, sum(charges, _ZERO)
        if abs(total - stated) >= CENT:
            message = f"The {name} make {total}, but the XML says {stated} for their sum ({number})."
            yield Failure(check=rule, message=message, fields=("net_total",))


def _check_decimals(terms: TermValues) -> Iterator[Failure]:
    amounts = [(number, terms.number(number)) for number in _AMOUNTS]
    amounts += [("BT-131", line.number("BT-131")) for line in item_lines(terms)]
    amounts += [(number, row.number(number)) for row in terms.all("BG-23") for number in ("BT-116", "BT-117")]
    for number, amount in amounts:
        exponent = amount.as_tuple().exponent if amount is not None else 0
        if isinstance(exponent, int) and -exponent > _DECIMALS:
            message = f"The amount {amount} ({number}) has more than two decimals."
            yield Failure(check="BR-DEC", message=message)


def check_line_amounts(terms: TermValues) -> Iterator[Failure]:
    """Yield a failure for each line whose amount is not quantity by price with charges and allowances.

    Source: rule PEPPOL-EN16931-R120; EN 16931 has no such rule.
    """
    for index, line in enumerate(item_lines(terms)):
        quantity, price, net = map(line.number, ("BT-129", "BT-146", "BT-131"))
        if quantity is None or price is None or net is None:
            continue
        total = quantity * price / (line.number("BT-149") or 1)
        total += sum((charge.number("BT-141") or _ZERO for charge in line.all("BG-28")), _ZERO)
        total -= sum((allowance.number("BT-136") or _ZERO for allowance in line.all("BG-27")), _ZERO)
        if abs(total - net) > LINE_TOLERANCE:
            message = (
                f"Line {index + 1}: {quantity} at {price} make {total:.2f}, but the XML says {net} (BT-131)."
            )
            fields = (f"lines[{index}].net_amount",)
            yield Failure(check="PEPPOL-EN16931-R120", message=message, fields=fields)


def check_vat(terms: TermValues, level: Level) -> Iterator[Failure]:
    """Yield the failures of EN 16931's rules on the VAT breakdown (BG-23), its rates and the VAT identifiers.

    level: lines are compared with the breakdown at `en16931` only.
    """
    breakdown = terms.all("BG-23")
    if not breakdown:
        yield Failure(check="BR-CO-18", message="The VAT is not broken down.", fields=("tax_total",))
        return
    for row in breakdown:
        for rule, number, name in _BREAKDOWN:
            if number not in row and not (number == "BT-119" and row.text("BT-118") == "O"):
                message = f"The breakdown of the VAT lacks {name} ({number})."
                yield Failure(check=rule, message=message, fields=("tax_total",))
    stated, total = terms.number("BT-110"), sum((row.number("BT-117") or _ZERO for row in breakdown), _ZERO)
    if stated is not None and abs(total - stated) >= CENT:
        message = f"The VAT of all rates makes {total}, but the XML says {stated} (BT-110)."
        yield Failure(check="BR-CO-14", message=message, fields=("tax_total",))
    for row in breakdown:
        yield from _check_vat_rate(row)
    yield from _check_vat_parties(terms)
    if level == "en16931":
        yield from _check_vat_of_lines(terms)


def _check_vat_parties(terms: TermValues) -> Iterator[Failure]:
    """Failures of missing VAT identifiers, and of missing details of a supply within the European Union."""
    categories = {row.text("BT-118") or "" for row in terms.all("BG-23")}
    rules = [CATEGORIES[category] for category in categories if category in CATEGORIES]
    if categories & (CATEGORIES.keys() - {"O"}) and not {"BT-31", "BT-32", "BT-63"} & terms.values.keys():
        message = "VAT is spoken of, but the seller has no VAT or tax identifier (BT-31, BT-32)."
        yield Failure(check=f"BR-{min(rules)}-02", message=message, fields=("seller.vat_id",))
    if "K" in categories:
        for rule, numbers, problem, fields in _COMMUNITY_SUPPLY:
            if not any(number in terms for number in numbers):
                message = f"It is a supply within the European Union, but {problem}."
                yield Failure(check=rule, message=message, fields=fields)


def _check_vat_rate(row: TermValues) -> Iterator[Failure]:
    """Failures of one row of the breakdown of VAT."""
    category = row.text("BT-118")
    basis, tax, rate = map(row.number, ("BT-116", "BT-117", "BT-119"))
    name = CATEGORIES.get(category or "")
    if category is not None and name is None:
        message = f"{category!r} (BT-118) is no VAT category."
        yield Failure(check="BR-CL-17", message=message, fields=("tax_total",))
    if basis is not None and tax is not None and rate is not None:
        product = (basis * rate / 100).quantize(CENT, ROUND_HALF_UP, _WIDE)
        if abs(product - tax) >= VAT_TOLERANCE:
            message = f"{rate:f} % of {basis} is {product}, but the XML says {tax} of VAT (BT-117)."
            yield Failure(check="BR-CO-17", message=message, fields=("tax_total",))
    if category in UNTAXED and tax:
        message = f"No VAT is charged in category {category}, but the XML says {tax} (BT-117)."
        yield Failure(check=f"BR-{name}-09", message=message, fields=("tax_total",))
    if category in REASONED and "BT-120" not in row and "BT-121" not in row:
        message = f"The XML does not say why no VAT is charged in category {category} (BT-120)."
        yield Failure(check=f"BR-{name}-10", message=message, fields=("tax_total",))


def _check_vat_of_lines(terms: TermValues) -> Iterator[Failure]:
    """Failures of rates whose taxed amount differs from the sum of their lines, allowances and charges."""
    totals: defaultdict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for index, line in enumerate(item_lines(terms)):
        category, rate = line.text("BT-151"), line.number("BT-152") or _ZERO
        if category in UNTAXED and rate:
            message = f"Line {index + 1} is of category {category}, in which the rate is 0, not {rate}."
            fields = (f"lines[{index}].tax_rate",)
            yield Failure(check=f"BR-{CATEGORIES[category]}-05", message=message, fields=fields)
        totals[category or "", rate] += line.number("BT-131") or _ZERO
    for _, _, _, groups, (amount_of, category_of, rate_of), sign in _CHARGES:
        for charge in (charge for group in groups for charge in terms.all(group)):
            key = charge.text(category_of) or "", charge.number(rate_of) or _ZERO
            totals[key] += sign * (charge.number(amount_of) or _ZERO)
    bases = {
        (row.text("BT-118") or "", row.number("BT-119") or _ZERO): row.number("BT-116") or _ZERO
        for row in terms.all("BG-23")
    }
    for (category, rate), total in totals.items():
        name, basis = CATEGORIES.get(category), bases.get((category, rate))
        if name is not None and basis is None:
            message = (
                f"Lines are of VAT category {category} at {rate:f} %, which the breakdown does not have."
            )
            yield Failure(check=f"BR-{name}-01", message=message, fields=("tax_total",))
        elif name is not None and basis is not None and abs(basis - total) >= VAT_TOLERANCE:
            message = f"At {rate:f} % VAT the lines make {total}, but the XML says {basis} (BT-116)."
            yield Failure(check=f"BR-{name}-08", message=message, fields=("net_total", "tax_total"))
