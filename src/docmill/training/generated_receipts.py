"""Made-up receipts to learn names, addresses and totals from: layouts drawn by chance.

Each receipt draws its own way of printing: what stands above and below the name, alignment and sizes, forms
of date, time and amounts, which sums are printed, where the picture is cut. Then `simulated_ocr` reads it.
The truth is as read, so that a span equals it. The same seed gives the same receipts.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from docmill.training.receipt_texts import ReceiptTexts
from docmill.training.receipts import LabelledReceipt
from docmill.training.simulated_ocr import SimulatedOcr

_CENT = Decimal("0.01")
_CHARACTER_PX, _LINE_PX = 22.0, 40.0
_LONG = 18
"""Characters from which on a company's name may be printed on two lines."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A text on a row.

    at: its place, as a share of the paper's width. anchor: what of it stands there: 0 its left end, 0.5 its
    middle, 1 its right end. role: what it is in the truth.
    """

    text: str
    at: float
    anchor: float
    role: str = ""


@dataclass
class _Row:
    cells: Sequence[_Cell]
    size: float = 1.0
    gap: float = 0.0


@dataclass
class _Receipt:
    """One receipt in the making, from top to bottom."""

    texts: ReceiptTexts
    rows: list[_Row] = field(default_factory=list[_Row])
    centred: bool = True
    spacing: float = 1.0
    total: Decimal | None = None
    day: date | None = None
    name_rows: int = 0

    @property
    def random(self) -> random.Random:
        return self.texts.random

    def chance(self, share: float) -> bool:
        return self.texts.chance(share)

    def line(self, text: str, role: str = "", *, size: float = 1.0, gap: float = 0.0) -> None:
        """A line of the head or foot."""
        at = 0.5 if self.centred else 0.0
        self.rows.append(_Row((_Cell(text, at, at, role),), size, gap))

    def pair(self, left: str, right: str, *, size: float = 1.0, roles: tuple[str, str] = ("", "")) -> None:
        """A text on the left and one on the right."""
        self.rows.append(_Row((_Cell(left, 0.0, 0.0, roles[0]), _Cell(right, 1.0, 1.0, roles[1])), size))


def generate_receipts(count: int, *, seed: int) -> list[LabelledReceipt]:
    """Generate labelled receipts. A truth of "" says that the paper, as it is cut, has no such value."""
    keys = [f"generated {seed} {index}" for index in range(count)]
    return [_generate(key, random.Random(key)) for key in keys]  # noqa: S311 - papers, not secrets


def _generate(key: str, random_: random.Random) -> LabelledReceipt:
    texts = ReceiptTexts(random_)
    receipt = _Receipt(texts, centred=random_.random() < 0.75, spacing=random_.choice((1.0, 1.1, 1.25, 1.5)))
    capitals = random_.random()
    brand = texts.brand()
    _head(receipt, brand)
    _details(receipt)
    if receipt.chance(0.93):
        _items(receipt)
    _foot(receipt, brand)
    if capitals < 0.3:
        receipt.rows = [
            _Row(
                [_Cell(cell.text.upper(), cell.at, cell.anchor, cell.role) for cell in row.cells],
                row.size,
                row.gap,
            )
            for row in receipt.rows
        ]
    return _read(key, receipt)


def _case(receipt: _Receipt, text: str) -> str:
    return text.upper() if receipt.chance(0.45) else text


def _head(receipt: _Receipt, brand: str) -> None:
    """The name, the address and what stands around them, in the orders that are common."""
    texts, random_ = receipt.texts, receipt.random
    for _ in range(random_.choice((0, 0, 0, 0, 1, 1, 2))):
        kind = random_.choice(
            ("copies", "welcome", "places", "notes", "welcome", "thanks", "thanks", "staff", "slogans")
        )
        receipt.line(_case(receipt, texts.phrase(kind)), gap=random_.choice((0, 0, 0.5)))
    _name(receipt, brand)
    between = random_.choice((0, 0, 0, 0, 1, 1, 2))
    for kind in random_.sample(
        ("slogans", "places", "managers", "notes", "tax_ids", "legal", "branch", "phone", "staff"), between
    ):
        receipt.line(_decoy(receipt, kind, brand))
    if receipt.chance(0.78):
        _address(receipt)
    for kind in random_.sample(
        ("phone", "phone", "tax_ids", "notes", "managers", "legal", "slogans", "copies", "thanks"),
        random_.choice((0, 1, 1, 2, 2, 3)),
    ):
        receipt.line(_decoy(receipt, kind, brand))


def _decoy(receipt: _Receipt, kind: str, brand: str) -> str:
    texts = receipt.texts
    if kind == "legal" and (not receipt.name_rows or texts.country["code"] == "MY"):
        kind = "tax_ids"  # a company that stands alone is the name; in Malaysia it is preferred to the brand
    if kind == "legal":
        return _case(receipt, texts.legal_name(brand))
    if kind == "branch":
        return _case(
            receipt,
            texts.fill(
                receipt.random.choice(
                    ("{city}", "{city} Branch", "{mall}", "Store #####", "{city} #####", "Unit #")
                )
            ),
        )
    if kind == "phone":
        return texts.fill(receipt.random.choice(texts.country["phones"]))
    return _case(receipt, texts.phrase(kind))


def _name(receipt: _Receipt, brand: str) -> None:
    """The name as a logo in one or two lines, as plain text, behind a greeting; or it could not be read."""
    texts, random_ = receipt.texts, receipt.random
    size = random_.choice((1.0, 1.0, 1.0, 1.1, 1.3, 1.6, 2.0, 2.5, 3.5))
    style = random_.random()
    printed = _case(receipt, brand)
    if style < 0.07:  # a logo that was not read, or that the picture does not show
        return
    receipt.name_rows += 1
    if style < 0.12:
        receipt.line(_case(receipt, texts.phrase("welcome_to", brand)), "welcome_name")
    elif style < 0.24 and " " in printed:
        first, _, rest = printed.partition(" ")
        receipt.line(first, "name", size=size)
        receipt.line(rest, "name", size=size * random_.choice((1, 1, 0.8)))
    elif style < 0.33:
        number = texts.fill(random_.choice(("#####", "####", "§ ####", "#-##", "Store ###", "#######")))
        glue = random_.choice((" ", " #", " # ", "#", " - "))
        receipt.line(f"{printed}{glue}{number}", "name", size=min(size, 1.6))
    elif style < (1.0 if texts.country["code"] == "MY" else 0.43):
        legal = _case(receipt, texts.legal_name(brand))
        first, _, rest = legal.rpartition(" ")
        if first and len(legal) > _LONG and receipt.chance(0.3):
            receipt.line(first, "name", size=min(size, 1.6))
            receipt.line(rest, "name", size=min(size, 1.6))
        else:
            receipt.line(legal, "name", size=min(size, 1.6))
    elif style < 0.48:
        pieces = random_.choice(("{0} {city}", "{0} - {city}", "{0} @ {mall}", "{0} ({city})"))
        receipt.line(texts.fill(pieces.replace("{0}", printed)), "name", size=min(size, 1.6))
    else:
        receipt.line(printed, "name", size=size, gap=random_.choice((0, 0, 0.5)))


def _address(receipt: _Receipt) -> None:
    texts, random_ = receipt.texts, receipt.random
    lines = texts.address()
    if len(lines) > 1 and receipt.chance(0.12):
        lines = [", ".join(line.rstrip(",") for line in lines)]
    elif len(lines) > 1 and receipt.chance(0.03):  # lines broken at any space
        words = " ".join(lines).split()
        at = random_.randint(1, len(words) - 1)
        lines = [" ".join(words[:at]), " ".join(words[at:])]
    is_upper = receipt.chance(0.35)
    size = random_.choice((1.0, 1.0, 1.0, 0.9))
    lines = [line.upper() if is_upper else line for line in lines]
    for index, line in enumerate(lines):
        cells = [_Cell(line, 0.5 if receipt.centred else 0.0, 0.5 if receipt.centred else 0.0, "address")]
        town, _, code = line.rpartition(" ")
        if index == len(lines) - 1 and code[:1].isdecimal() and len(town) > 4 and receipt.chance(0.1):
            cells = [_Cell(town, 0.42, 0.5, "address"), _Cell(code, 0.75, 0.5, "address")]
        receipt.rows.append(_Row(cells, size))


def _details(receipt: _Receipt) -> None:
    """Date and time, who served, at which table, and numbers."""
    texts, random_ = receipt.texts, receipt.random
    rows: list[Callable[[], None]] = []
    if receipt.chance(0.9):
        rows.append(lambda: _moment(receipt))
    rows.extend(lambda: receipt.line(texts.phrase("staff")) for _ in range(random_.choice((0, 1, 1))))
    for _ in range(random_.choice((0, 1, 2, 3, 4))):
        if receipt.chance(0.5):
            rows.append(
                lambda: receipt.pair(
                    texts.phrase("places"), texts.phrase("staff" if receipt.chance(0.4) else "places")
                )
            )
        else:
            rows.append(lambda: receipt.line(texts.phrase("places")))
    rows.extend(
        lambda: receipt.line(texts.phrase("copies"), size=random_.choice((1, 1, 1.5, 2)))
        for _ in range(random_.choice((0, 0, 1)))
    )
    random_.shuffle(rows)
    was_centred, receipt.centred = receipt.centred, receipt.centred and receipt.chance(0.3)
    for row in rows:
        row()
    receipt.centred = was_centred


def _moment(receipt: _Receipt) -> None:
    texts = receipt.texts
    (day, receipt.day), clock = texts.date(), texts.time()
    label = f"{texts.phrase('date')} " if receipt.chance(0.5) else ""
    hours = f"{texts.phrase('time')} " if receipt.chance(0.4) else ""
    style = receipt.random.random()
    if style < 0.4:
        receipt.pair(f"{label}{day}", f"{hours}{clock}", roles=("date", ""))
    elif style < 0.8:
        receipt.line(f"{label}{day} {clock}", "date")
    else:
        receipt.line(f"{label}{day}", "date")
        if receipt.chance(0.7):
            receipt.line(f"{hours or 'Time: '}{clock}")


def _items(receipt: _Receipt) -> None:
    """The goods, and the sums below them."""
    texts, random_ = receipt.texts, receipt.random
    scale = {"ID": 1000, "VN": 1000, "CL": 100, "CO": 1000, "IN": 20, "TH": 20, "PH": 20, "CZ": 20}.get(
        texts.country["code"], 1
    )
    if receipt.chance(0.25):
        receipt.pair(
            "Qty Item" if receipt.chance(0.5) else "Description", "Amount" if receipt.chance(0.5) else "Price"
        )
    marked, style = receipt.chance(0.3), random_.randrange(5)
    net = Decimal(0)
    for _ in range(random_.choice((1, 1, 2, 3, 3, 4, 5, 6, 8, 11))):
        count = random_.choice((1, 1, 1, 2, 3))
        price = Decimal(random_.randint(20, 3999)) * scale / 100
        price = price.quantize(Decimal(100) if scale >= 100 else _CENT) + (100 if scale >= 100 else 0)
        amount, name = price * count, _case(receipt, texts.phrase("items"))
        net += amount
        code = texts.fill("############" if receipt.chance(0.5) else "######")
        left = (
            name,
            f"{count} {name}",
            f"{code} {name}",
            f"{count} x {name}",
            f"{name} {count} @ {texts.amount(price, marked=False)}",
        )[style]
        receipt.pair(
            left, texts.amount(amount, marked=marked) + random_.choice(("", "", "", " T", " A", " N"))
        )
        if receipt.chance(0.12):
            receipt.line(texts.phrase("items"))
    _sums(receipt, net)


def _sums(receipt: _Receipt, net: Decimal) -> None:
    texts, random_ = receipt.texts, receipt.random
    whole = bool(texts.country.get("whole")) or texts.country["code"] == "ID"
    step = Decimal(1) if whole else _CENT

    def share(of: Decimal, percent: float) -> Decimal:
        return (of * Decimal(str(percent)) / 100).quantize(step, ROUND_HALF_UP)

    inclusive = bool(texts.country.get("comma")) or receipt.chance(0.25)
    total = net
    if receipt.chance(0.1):
        off = share(net, random_.choice((5, 10, 20)))
        receipt.pair(texts.phrase("saved"), f"-{texts.amount(off)}")
        total -= off
    if receipt.chance(0.62):
        receipt.pair(texts.phrase("sub"), texts.amount(total))
    base = total
    if receipt.chance(
        0.3 if texts.country["code"] in {"SG", "MY", "ID", "TH", "HK", "PH", "IN", "GB"} else 0.04
    ):
        fee = share(base, random_.choice((5, 10, 12.5)))
        receipt.pair(texts.phrase("service"), texts.amount(fee))
        total += fee
    taxes: list[Decimal] = []
    for _ in range(random_.choice((0, 1, 1, 1, 1, 2))):
        tax = share(base, random_.choice(texts.country["rates"]))
        taxes.append(tax)
        if not inclusive:
            receipt.pair(texts.random.choice(texts.country["taxes"]), texts.amount(tax))
            total += tax
    if receipt.chance(0.12):
        rounded = (total / (step * 5)).quantize(Decimal(1)) * step * 5
        if rounded != total:
            receipt.pair(texts.phrase("rounding"), texts.amount(rounded - total))
            total = rounded
    _payment(receipt, total, taxes if inclusive else [])


def _payment(receipt: _Receipt, total: Decimal, taxes: Sequence[Decimal]) -> None:
    """The total, what was paid, and the taxes that it includes; the picture may end before any of it."""
    texts, random_ = receipt.texts, receipt.random
    if receipt.chance(0.07):  # cut off, or a bill without a total
        return
    size = random_.choice((1, 1, 1, 1.3, 1.6, 2))
    receipt.total = total
    receipt.pair(texts.phrase("total"), texts.amount(total), size=size, roles=("", "total"))
    if receipt.chance(0.25):
        receipt.pair(texts.phrase("due"), texts.amount(total))
    _paid(receipt, total)
    for tax in taxes:
        _included_tax(receipt, total, tax)
    kinds = random_.sample(
        ("counts", "saved", "suggested", "card", "card", "card"), random_.choice((0, 0, 1, 2, 4))
    )
    for kind in kinds:
        if kind == "saved":
            receipt.pair(texts.phrase(kind), texts.amount((total / 7).quantize(_CENT)))
        else:
            receipt.line(texts.phrase(kind))


def _paid(receipt: _Receipt, total: Decimal) -> None:
    """A slip for the card with a line for the tip, or what was handed over and the change."""
    texts, random_ = receipt.texts, receipt.random
    if receipt.chance(0.1) and texts.country["code"] in {"US", "CA"}:
        tip = (total * random_.choice((15, 18, 20)) / 100).quantize(_CENT)
        receipt.pair(texts.phrase("tip"), texts.amount(tip) if receipt.chance(0.5) else "__________")
        if receipt.chance(0.5):
            receipt.pair("Total", "__________")
    elif receipt.chance(0.65):
        cash, paid = receipt.chance(0.5), total
        if cash:
            paid += (Decimal(random_.randint(0, 40)) * (total / 50 + 1)).quantize(Decimal(1))
        receipt.pair(texts.phrase("paid"), texts.amount(paid))
        if cash or receipt.chance(0.2):
            receipt.pair(texts.phrase("change"), texts.amount(paid - total))


def _included_tax(receipt: _Receipt, total: Decimal, tax: Decimal) -> None:
    """A tax that the total includes: as a row, as a row of a table with its rate, or in a line."""
    texts, random_ = receipt.texts, receipt.random
    rate, label = random_.choice(texts.country["rates"]), random_.choice(texts.country["taxes"])
    style = random_.randrange(3)
    if style == 0:
        receipt.pair(label, texts.amount(tax))
    elif style == 1:
        amounts = (texts.amount(value, marked=False) for value in (total - tax, tax, total))
        cells = zip((f"{rate}%", *amounts), (0.0, 0.3, 0.6, 0.85), strict=True)
        receipt.rows.append(_Row(tuple(_Cell(text, at, 0.0) for text, at in cells)))
    else:
        receipt.line(f"{label} {texts.amount(tax)}")


def _foot(receipt: _Receipt, brand: str) -> None:
    texts, random_ = receipt.texts, receipt.random
    kinds = (
        "thanks",
        "notes",
        "slogans",
        "thanks_to",
        "staff",
        "tax_ids",
        "notes",
        "card",
        "welcome",
        "managers",
        "legal",
        "phone",
    )
    for kind in random_.sample(kinds, random_.choice((0, 1, 2, 3, 5))):
        if kind == "thanks_to":
            receipt.line(_case(receipt, texts.phrase(kind, brand)))
        else:
            receipt.line(_decoy(receipt, kind, brand))
    if receipt.chance(0.1) and not any(cell.role == "address" for row in receipt.rows for cell in row.cells):
        _address(receipt)


def _read(key: str, receipt: _Receipt) -> LabelledReceipt:
    """The printed rows as simulated recognition reads them, with their true values."""
    random_, rows = receipt.random, receipt.rows
    if receipt.chance(0.1):  # the picture begins lower
        rows = rows[random_.randint(1, 3) :]
    if receipt.chance(0.12):  # or ends early
        rows = rows[: max(6, random_.randint(len(rows) // 2, len(rows)))]
    longest = max((len(cell.text) * row.size + 4 for row in rows for cell in row.cells), default=20)
    paper = max(longest, random_.randint(26, 44)) * _CHARACTER_PX
    left, y = random_.uniform(0.02, 0.35) * paper, random_.uniform(0.3, 3) * _LINE_PX
    ocr, read = SimulatedOcr(random_), dict[str, list[str]]()
    for row in rows:
        y += row.gap * _LINE_PX
        for cell in row.cells:
            width = len(cell.text) * _CHARACTER_PX * row.size * random_.uniform(0.95, 1.05)
            height = 1.05 * _LINE_PX * row.size * random_.uniform(0.9, 1.1)
            text = ocr.read(
                cell.text, left + cell.at * paper - cell.anchor * width, y, width=width, height=height
            )
            if cell.role and text:
                read.setdefault(cell.role, []).append(text)
        y += row.size * _LINE_PX * receipt.spacing
    ocr.add_background(left - 0.3 * paper, left + 1.05 * paper, y)
    return LabelledReceipt(key, key, ocr.document(key), _truth(receipt, read), made_up=True)


def _truth(receipt: _Receipt, read: dict[str, list[str]]) -> dict[str, str]:
    """The values by path, as read; "" for those that the paper does not have."""
    total = receipt.total if "total" in read else None
    name = " ".join(read.get("name", ()))
    if not name and "welcome_name" in read:
        name = read["welcome_name"][0]
    return {
        "seller.name": name,
        "seller.address": " ".join(read.get("address", ())),
        "issue_date": receipt.day.isoformat() if receipt.day and "date" in read else "",
        "gross_total": "" if total is None else f"{total:.2f}",
    }
