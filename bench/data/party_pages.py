"""Made-up pages of business papers with the truth of who is who, in many layouts, languages and countries.

They are laid out as words and boxes at once, without drawing. The same seed gives the same pages.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.data.party_words import Firm, Phrases, draw_firm, draw_person, phrases_of
from docmill.model.document import Document, Page, Words
from docmill.schemas.document_types import DocumentType

TYPES: tuple[DocumentType, ...] = ("invoice", "invoice", "credit_note", "purchase_order", "delivery_note")
_WIDTH_PT, _HEIGHT_PT = 595.0, 842.0
_CHARACTER = 0.52
"""Mean width of a character, in heights of the print."""
_MIDDLE = 0.4


@dataclass(frozen=True, slots=True)
class PartyPage:
    """A page with its truth. layout: the kinds of head and of addressee, by which layouts are held out.

    truth: by path, such as `seller.name`; a list of the printed lines for an address. Absent is not printed.
    """

    document: Document
    document_type: DocumentType
    language: str
    layout: str
    truth: dict[str, str | list[str]]


@dataclass
class _Sheet:
    """Words printed so far. Places are in fractions of the page's width (x) and height (y)."""

    random: random.Random
    size: float
    pitch: float
    words: list[tuple[float, float, float, float, str]] = field(
        default_factory=list[tuple[float, float, float, float, str]]
    )

    def text(self, x: float, y: float, text: str, *, scale: float = 1.0, align: str = "left") -> None:
        """Print a text from `x`, or up to it, or around it."""
        height = self.size * scale
        step = height * _CHARACTER * _HEIGHT_PT / _WIDTH_PT
        x -= {"left": 0.0, "right": 1.0, "center": 0.5}[align] * len(text) * step
        for word in text.split(" "):
            if word:
                self.words.append((x, y, x + len(word) * step, y + height, word))
            x += (len(word) + 1) * step

    def stack(
        self, x: float, y: float, lines: Sequence[str], *, scale: float = 1.0, align: str = "left"
    ) -> float:
        """Print lines one below the other. Returns the place below them."""
        for line in lines:
            self.text(x, y, line, scale=scale, align=align)
            y += self.pitch * scale
        return y

    def page(self) -> Page:
        """The page, with its words in lines from top to bottom."""
        rows: list[list[tuple[float, float, float, float, str]]] = []
        for word in sorted(self.words, key=lambda word: (word[1] + word[3], word[0])):
            middle = (word[1] + word[3]) / 2
            last = rows[-1][0] if rows else None
            if last is not None and abs((last[1] + last[3]) / 2 - middle) < 0.4 * self.size:
                rows[-1].append(word)
            else:
                rows.append([word])
        ordered = [(line, word) for line, row in enumerate(rows) for word in sorted(row)]
        words = Words(
            [word[4] for _, word in ordered],
            np.clip(np.array([word[:4] for _, word in ordered], np.float32).reshape(-1, 4), 0, 1),
            np.ones(len(ordered), np.float32),
            np.array([line for line, _ in ordered], np.int32),
            np.zeros(len(ordered), np.int32),
        )
        return Page(
            number=1, width_pt=_WIDTH_PT, height_pt=_HEIGHT_PT, words=words, source="text", quality=1.0
        )


@dataclass
class _Paper:
    """One paper: who writes to whom, in which language. y: below what is printed at the top."""

    random: random.Random
    phrases: Phrases
    document_type: DocumentType
    writer: Firm
    addressed: Firm
    sheet: _Sheet
    writer_block: bool = False
    """Whether the head or footer prints the writer's address."""
    y: float = 0.05

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def say(self, name: str) -> str:
        """One of the language's phrases of this kind."""
        return self.random.choice(self.phrases[name])

    @property
    def roles(self) -> tuple[str, str]:
        """The roles of the writer and of the addressed party."""
        return ("buyer", "seller") if self.document_type == "purchase_order" else ("seller", "buyer")

    def heading(self, name: str) -> str:
        """A label that stands alone, with or without a colon, sometimes in capitals."""
        text = self.say(name)
        return (text.upper() if self.chance(0.2) else text) + (":" if self.chance(0.5) else "")

    def contacts(self, firm: Firm) -> list[str]:
        lines = [
            f"{self.say('phone')} {self.phone()}",
            f"info@{firm.domain}" if self.chance(0.7) else f"www.{firm.domain}",
            f"{self.say('vat')}: {self.random.randint(10**8, 10**9)}",
        ]
        return self.random.sample(lines, k=self.random.randint(0, 3))

    def phone(self) -> str:
        numbers = (self.random.randint(*span) for span in ((20, 99), (20, 999), (10**5, 10**6)))
        return f"+{' '.join(map(str, numbers))}"

    def code(self) -> str:
        return f"{self.random.choice(('', 'R', 'A-', '2026-'))}{self.random.randint(100, 99999)}"

    def day(self) -> str:
        return f"{self.random.randint(1, 28):02}.{self.random.randint(1, 12):02}.2026"


# ---- the writer at the head -------------------------------------------------------------------


def _head_block(paper: _Paper, x: float, align: str) -> None:
    """Name, address and contacts below each other."""
    sheet, firm = paper.sheet, paper.writer
    y = sheet.stack(x, paper.y, firm.printed_name, scale=paper.random.choice((1.0, 1.3, 1.8)), align=align)
    if paper.chance(0.25):
        y = sheet.stack(x, y, [paper.say("slogans")], align=align)
    lines = [*firm.address, *paper.contacts(firm)]
    if paper.chance(0.2):
        lines = [
            f"{paper.random.choice((' · ', ', ', ' - ', ' | ')).join(firm.address)}",
            *paper.contacts(firm),
        ]
    paper.y = sheet.stack(x, y, lines, align=align) + sheet.pitch
    paper.writer_block = True


def _head_left(paper: _Paper) -> None:
    _head_block(paper, 0.08, "left")


def _head_right(paper: _Paper) -> None:
    if paper.chance(0.5):
        _head_block(paper, 0.62, "left")
    else:
        _head_block(paper, 0.93, "right")


def _head_centre(paper: _Paper) -> None:
    _head_block(paper, 0.5, "center")


def _head_split(paper: _Paper) -> None:
    """The name on the left, address and contacts on the right."""
    sheet, firm = paper.sheet, paper.writer
    sheet.stack(0.08, paper.y, firm.printed_name, scale=1.5)
    lines = [*firm.address, *paper.contacts(firm)]
    if paper.chance(0.5):
        lines.insert(0, firm.name)
    paper.y = sheet.stack(0.66, paper.y, lines) + sheet.pitch
    paper.writer_block = True


def _head_logo(paper: _Paper) -> None:
    """The brand alone, or a slogan; who writes stands in the footer."""
    sheet, firm = paper.sheet, paper.writer
    x, align = paper.random.choice(((0.08, "left"), (0.92, "right"), (0.5, "center")))
    y = sheet.stack(x, paper.y, [firm.brand or firm.name], scale=2.0, align=align)
    if paper.chance(0.4):
        y = sheet.stack(x, y, [paper.say("slogans")], align=align)
    paper.y = y + sheet.pitch


def _head_lines(paper: _Paper) -> None:
    """Name, address and contacts in two or three lines over the whole width."""
    sheet, firm = paper.sheet, paper.writer
    separator = paper.random.choice((" - ", " · ", ", ", " | "))
    lines = [separator.join([firm.name, *firm.address]), " - ".join(paper.contacts(firm))]
    paper.y = sheet.stack(0.5, paper.y, [line for line in lines if line], align="center") + sheet.pitch
    paper.writer_block = True


HEADS: dict[str, Callable[[_Paper], None]] = {
    "left": _head_left, "right": _head_right, "centre": _head_centre, "split": _head_split,
    "logo": _head_logo, "lines": _head_lines,
}  # fmt: skip


# ---- the addressed party ----------------------------------------------------------------------


def _addressee_lines(paper: _Paper) -> list[str]:
    """The lines of an envelope: with a department, a person or a salutation now and then."""
    firm = paper.addressed
    lines = list(firm.printed_name)
    if paper.chance(0.2):
        lines.append(paper.say("department"))
    if paper.chance(0.2):
        lines.append(f"{paper.say('attention')} {draw_person(paper.random)}")
    return [*lines, *firm.address]


def _window(paper: _Paper, x: float) -> None:
    """An address without a label, as in the window of an envelope."""
    sheet = paper.sheet
    y = max(paper.y, 0.15)
    if paper.chance(0.6):
        separator = paper.random.choice((" - ", " · ", ", ", " | ", " • "))
        sheet.text(x, y, separator.join([paper.writer.name, *paper.writer.address]), scale=0.7)
        paper.writer_block = True
        y += 1.6 * sheet.pitch
    bottom = sheet.stack(x, y, _addressee_lines(paper))
    _meta(paper, 0.62 if x < _MIDDLE else 0.08, y)
    paper.y = max(bottom, y + 0.08) + sheet.pitch


def _window_left(paper: _Paper) -> None:
    _window(paper, 0.1)


def _window_right(paper: _Paper) -> None:
    _window(paper, 0.56)


def _columns(paper: _Paper) -> None:
    """Headings side by side with a party below each: buyer, and seller, ship-to or others beside it."""
    sheet, y = paper.sheet, paper.y + sheet_gap(paper)
    writer_role, addressed_role = paper.roles
    blocks = [(paper.heading(addressed_role), _addressee_lines(paper))]
    if not paper.writer_block or paper.chance(0.3):
        blocks.insert(paper.random.randint(0, 1), (paper.heading(writer_role), _writer_lines(paper)))
        paper.writer_block = True
    for name in paper.random.sample(("ship_to", "remit_to", "agency", "carrier"), k=2 - len(blocks) // 2):
        blocks.insert(paper.random.randint(0, len(blocks)), (paper.heading(name), _other_party(paper, name)))
    step = 0.86 / len(blocks)
    bottom = y
    most = int(step / (sheet.size * _CHARACTER * _HEIGHT_PT / _WIDTH_PT)) - 2
    for index, (heading, lines) in enumerate(blocks):
        x = 0.07 + index * step
        sheet.text(x, y, heading)
        wrapped = [part for line in lines for part in _wrap(line, most)]
        gap = sheet.pitch * paper.random.choice((1.0, 1.3))
        bottom = max(bottom, sheet.stack(x, y + gap, wrapped))
    _meta(paper, paper.random.choice((0.07, 0.62)), bottom + sheet.pitch)
    paper.y = bottom + 6 * sheet.pitch


def _wrap(line: str, most: int) -> list[str]:
    """The line, broken where it is longer than `most` characters."""
    lines = [""]
    for word in line.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def sheet_gap(paper: _Paper) -> float:
    """A gap of one to three lines."""
    return paper.sheet.pitch * paper.random.uniform(1, 3)


def _writer_lines(paper: _Paper) -> list[str]:
    return [*paper.writer.printed_name, *paper.writer.address]


def _other_party(paper: _Paper, name: str) -> list[str]:
    """The lines of a party that is neither seller nor buyer."""
    if name == "ship_to" and paper.chance(0.5):
        return [paper.addressed.name, *draw_firm(paper.random, paper.phrases).address]
    firm = draw_firm(paper.random, paper.phrases)
    if name == "remit_to":
        return [paper.writer.name, *firm.box_address] if paper.chance(0.7) else [firm.name, *firm.box_address]
    if name == "carrier":
        return [paper.phrases.carrier(paper.random), *(firm.address if paper.chance(0.5) else [])]
    if name == "agency":
        return [paper.phrases.agency(paper.random), *firm.address]
    return [firm.name, *firm.address]


def _stacked(paper: _Paper) -> None:
    """Headings below each other, each with its party."""
    sheet, y = paper.sheet, paper.y + sheet_gap(paper)
    writer_role, addressed_role = paper.roles
    blocks = [(addressed_role, _addressee_lines(paper))]
    if not paper.writer_block:
        blocks.insert(paper.random.randint(0, 1), (writer_role, _writer_lines(paper)))
        paper.writer_block = True
    if paper.chance(0.5):
        blocks.append(("ship_to", _other_party(paper, "ship_to")))
    _meta(paper, 0.6, y)
    indent = paper.random.choice((0.0, 0.0, 0.02))
    for name, lines in blocks:
        if paper.chance(0.35):
            sheet.text(0.08, y, f"{paper.say(name)}: {lines[0]}")
            y = sheet.stack(0.08 + indent, y + sheet.pitch, lines[1:]) + sheet.pitch
        else:
            sheet.text(0.08, y, paper.heading(name))
            y = sheet.stack(0.08 + indent, y + sheet.pitch, lines) + sheet.pitch
    paper.y = y


def _form(paper: _Paper) -> None:
    """Parties as forms: a heading, and lines with labels such as `Name` and `Address`."""
    sheet, y = paper.sheet, paper.y + sheet_gap(paper)
    writer_role, addressed_role = paper.roles
    parties = [(addressed_role, paper.addressed)]
    if not paper.writer_block or paper.chance(0.5):
        parties.insert(0, (writer_role, paper.writer))
        paper.writer_block = True
    beside = len(parties) > 1 and paper.chance(0.4)
    colon = paper.random.choice((":", ":", ""))
    values = paper.random.choice((0.12, 0.16)) if beside else paper.random.choice((0.16, 0.25))
    name, address = paper.say("name"), paper.say("address")
    bottom = top = y
    for index, (role, firm) in enumerate(parties):
        x = 0.08 + 0.45 * index * beside
        y = top if beside else bottom
        sheet.text(x, y, paper.heading(role))
        y += 1.3 * sheet.pitch
        for label, lines in ((name, firm.printed_name), (address, firm.address)):
            sheet.text(x, y, label + colon)
            y = sheet.stack(x + values, y, lines)
        sheet.text(x, y, f"{paper.say('vat')}{colon}")
        sheet.text(x + values, y, str(paper.random.randint(10**8, 10**9)))
        bottom = max(bottom, y + 2 * sheet.pitch)
    _meta(paper, 0.08, bottom)
    paper.y = bottom + 5 * sheet.pitch


ADDRESSEES: dict[str, Callable[[_Paper], None]] = {
    "window left": _window_left, "window right": _window_right, "columns": _columns, "stacked": _stacked,
    "form": _form,
}  # fmt: skip


# ---- the rest of the page ---------------------------------------------------------------------


def _meta(paper: _Paper, x: float, y: float) -> None:
    """Title, number, date and contact person, at one side."""
    sheet = paper.sheet
    rows = [
        (paper.say("number"), paper.code()),
        (paper.say("date"), paper.day()),
        (paper.say("customer"), paper.code()),
        (paper.say("contact"), draw_person(paper.random)),
        (paper.say("phone"), paper.phone()),
    ]
    if paper.chance(0.5):
        sheet.text(x, y - 1.5 * sheet.pitch, paper.say(paper.document_type), scale=1.2)
    for label, value in rows[: paper.random.randint(2, 5)]:
        sheet.text(x, y, f"{label}: {value}")
        y += sheet.pitch


def _body(paper: _Paper) -> None:
    """Title, items, totals and sentences."""
    sheet, y = paper.sheet, paper.y + sheet_gap(paper)
    sheet.text(0.08, y, f"{paper.say(paper.document_type)} {paper.code()}", scale=1.3)
    y += 2.5 * sheet.pitch
    places = (0.08, 0.55, 0.7, 0.85)
    for x, text in zip(places, paper.phrases["columns"], strict=True):
        sheet.text(x, y, text)
    for _ in range(paper.random.randint(1, 6)):
        y += sheet.pitch * 1.2
        cells = (
            paper.say("items"),
            str(paper.random.randint(1, 20)),
            *(f"{paper.random.uniform(1, 900):.2f}" for _ in range(2)),
        )
        for x, text in zip(places, cells, strict=True):
            sheet.text(x, y, text)
    for label in paper.phrases["totals"]:
        y += sheet.pitch
        sheet.text(0.6, y, label)
        sheet.text(0.93, y, f"{paper.random.uniform(1, 900):.2f}", align="right")
    y += 2 * sheet.pitch
    if paper.chance(0.3):
        name = paper.random.choice(("remit_to", "carrier", "agency", "ship_to"))
        y = sheet.stack(0.08, y, [paper.heading(name), *_other_party(paper, name)]) + sheet.pitch
    for name in ("notes", "payment"):
        if paper.chance(0.5):
            sheet.text(0.08, y, paper.say(name).format(name=paper.writer.name))
            y += sheet.pitch
    paper.y = y


def _footer(paper: _Paper) -> None:
    """Columns or lines at the bottom: address, contacts, directors, bank."""
    sheet, firm = paper.sheet, paper.writer
    y = max(paper.y + sheet.pitch, 0.99 - 7 * sheet.pitch)
    bank = [
        paper.phrases.bank(paper.random),
        f"IBAN DE{paper.random.randint(10**17, 10**18)}",
        "BIC COBADEFFXXX",
    ]
    if paper.chance(0.4):
        bank.insert(0, paper.say("bank"))
    columns = [
        [paper.random.choice([draw_person(paper.random)]), f"HRB {paper.random.randint(100, 99999)}"],
        bank,
    ]
    if not paper.writer_block:
        columns.insert(0, [firm.name, *firm.address])
        paper.writer_block = True
    elif paper.chance(0.4):
        columns.insert(0, [firm.name, *(firm.box_address if paper.chance(0.3) else firm.address)])
    if paper.chance(0.3):
        separator = paper.random.choice((" · ", " | ", " - "))
        sheet.stack(0.08, y, [separator.join(column) for column in columns], scale=0.8)
        return
    for index, column in enumerate(columns):
        sheet.stack(0.07 + index * 0.88 / len(columns), y, column, scale=0.75)


def generate_party_pages(count: int, *, seed: int) -> list[PartyPage]:
    """Generate `count` pages."""
    random_ = random.Random(seed)
    return [_generate_page(random_) for _ in range(count)]


def _generate_page(random_: random.Random) -> PartyPage:
    phrases = phrases_of(random_.choice(Phrases.languages()))
    size = random_.uniform(0.009, 0.0125)
    paper = _Paper(
        random_,
        phrases,
        random_.choice(TYPES),
        draw_firm(random_, phrases),
        draw_firm(random_, phrases, is_foreign=random_.random() < 0.3, may_be_person=random_.random() < 0.2),
        _Sheet(random_, size, size * random_.uniform(1.2, 1.5)),
        y=random_.uniform(0.02, 0.06),
    )
    head, addressee = random_.choice(list(HEADS)), random_.choice(list(ADDRESSEES))
    HEADS[head](paper)
    ADDRESSEES[addressee](paper)
    _body(paper)
    if not paper.writer_block or paper.chance(0.6):
        _footer(paper)
    truth: dict[str, str | list[str]] = {}
    for role, firm in zip(paper.roles, (paper.writer, paper.addressed), strict=True):
        truth[f"{role}.name"] = firm.name
        truth[f"{role}.address"] = list(firm.address)
    document = Document("0" * 64, "application/pdf", [paper.sheet.page()])
    return PartyPage(document, paper.document_type, phrases.language, f"{head}, {addressee}", truth)
