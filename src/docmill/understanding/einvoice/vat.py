"""The rules on VAT: its breakdown (BG-23), and what each category asks for."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from docmill.model.result import Failure
from docmill.understanding.einvoice.codelists import CATEGORIES, REASONED, UNTAXED
from docmill.understanding.einvoice.mapping import items
from docmill.understanding.einvoice.profiles import Level
from docmill.understanding.einvoice.terms import Terms

CENT = Decimal("0.01")
TOLERANCE = Decimal(1)
"""What the published rules allow (BR-CO-17, BR-S-08), since VAT may be reckoned line by line."""
_NIL = Decimal(0)
_NEEDED = (
    ("BR-45", "BT-116", "the amount that is taxed"),
    ("BR-46", "BT-117", "the tax"),
    ("BR-47", "BT-118", "the category"),
    ("BR-48", "BT-119", "the rate"),
)


def vat(terms: Terms, level: Level) -> Iterator[Failure]:
    """What is wrong with the VAT."""
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
        yield from _of_lines(terms)


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


def _of_lines(terms: Terms) -> Iterator[Failure]:
    """Whether what is taxed at a rate is what the lines, allowances and charges of that rate make."""
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
