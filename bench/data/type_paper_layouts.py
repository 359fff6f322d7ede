"""Layouts of made-up papers of types: letters, forms and lists. Another module has those of tills and banks.

Each places the texts of a paper on a page; none is one on which a model was trained.
"""

import random
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from docmill.demo.wording import Wording

WIDTH_PT, HEIGHT_PT = 595.0, 842.0
GLYPH = 0.52
"""Width of a letter, as a share of the size of print."""
GOODS = ("Brackets 40 mm", "Oak board", "Valve DN 25", "Cable 3 x 1.5", "Paint white", "Filter", "Seal kit")
_SHIPPING = {
    "en": ("Shipper", "Consignee", "Carrier", "Packages", "Gross weight (kg)"),
    "de": ("Absender", "Empfänger", "Frachtführer", "Packstücke", "Bruttogewicht kg"),
    "fr": ("Expéditeur", "Destinataire", "Transporteur", "Colis", "Poids brut (kg)"),
    "es": ("Remitente", "Destinatario", "Transportista", "Bultos", "Peso bruto kg"),
    "it": ("Mittente", "Destinatario", "Vettore", "Colli", "Peso lordo kg"),
    "nl": ("Afzender", "Geadresseerde", "Vervoerder", "Colli", "Brutogewicht kg"),
    "pl": ("Nadawca", "Odbiorca", "Przewoźnik", "Liczba sztuk", "Waga brutto kg"),
    "pt": ("Expedidor", "Destinatário", "Transportador", "Volumes", "Peso bruto kg"),
    "sv": ("Avsändare", "Mottagare", "Transportör", "Kolli", "Bruttovikt kg"),
    "da": ("Afsender", "Modtager", "Transportør", "Kolli", "Bruttovægt kg"),
}
HOUSES = {
    "en": ("Harbour Tools Ltd", "12 Quay Street", "Bristol BS1 4ZZ"),
    "de": ("Nordlicht Technik GmbH", "Deichweg 5", "28195 Bremen"),
    "fr": ("Ateliers du Midi SARL", "8 rue des Forges", "31000 Toulouse"),
    "es": ("Talleres del Norte S.L.", "Calle Mayor 21", "48001 Bilbao"),
    "it": ("Officine Adriatiche S.r.l.", "Via Roma 14", "60121 Ancona"),
    "nl": ("Polder Techniek B.V.", "Kanaalweg 3", "3526 KL Utrecht"),
    "pl": ("Zakład Wisła Sp. z o.o.", "ul. Długa 7", "31-147 Kraków"),
    "pt": ("Oficinas do Tejo, Lda.", "Rua Nova 10", "1200-370 Lisboa"),
    "sv": ("Vindö Verktyg AB", "Storgatan 4", "411 38 Göteborg"),
    "da": ("Fjordens Værktøj ApS", "Havnegade 12", "8000 Aarhus C"),
}
OTHER_HOUSE = ("Bellmann & Croft", "Parkallee 9", "4021 Westbury")


class Text(NamedTuple):
    """A printed text. x, y: where its base line begins, in points from the top left; size: of print."""

    x: float
    y: float
    size: float
    text: str


class Content(NamedTuple):
    """A paper without its layout. body: paragraphs. random: for what no wording depends on."""

    kind: str
    language: str
    title: str
    body: tuple[str, ...]
    number: str
    day: date
    say: Wording
    random: random.Random


def _wrapped(text: str, width: int = 88) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _running(content: Content, y: float, *, size: float = 10, pitch: float = 16) -> list[Text]:
    texts: list[Text] = []
    for paragraph in content.body:
        for line in _wrapped(paragraph):
            texts += [
                Text(60 + 150 * at, y, size, cell.strip())
                for at, cell in enumerate(line.split("   "))
                if cell
            ]
            y += pitch
        y += pitch / 2
    return texts


def window_letter(content: Content) -> list[Text]:
    """An address window, the date at the right, the subject a little larger."""
    house = HOUSES[content.language]
    return [
        Text(380, 60, 14, house[0]), Text(380, 78, 9, house[1]), Text(380, 90, 9, house[2]),
        *(Text(60, 130 + 14 * row, 10, line) for row, line in enumerate(OTHER_HOUSE)),
        Text(420, 200, 10, content.say.day(content.day)),
        Text(60, 240, 12, content.title),
        *_running(content, 280),
    ]  # fmt: skip


def plain_letter(content: Content) -> list[Text]:
    """One size of print throughout."""
    house = HOUSES[content.language]
    head = (*house, "", *OTHER_HOUSE, "", f"{house[2].split()[-1]}, {content.say.day(content.day)}", "")
    texts = [Text(70, 60 + 15 * row, 11, line) for row, line in enumerate(head)]
    return [*texts, Text(70, 210, 11, content.title), *_running(content, 245, size=11, pitch=18)]


def centred_page(content: Content) -> list[Text]:
    """A large title in the middle, no letterhead, the date below the text."""
    left = (WIDTH_PT - len(content.title) * 18 * GLYPH) / 2
    body = _running(content, 130)
    end = body[-1].y if body else 130
    place = f"{HOUSES[content.language][2].split()[-1]}, {content.say.day(content.day)}"
    return [Text(max(40, left), 80, 18, content.title), *body, Text(60, end + 50, 10, place)]


def foot_letter(content: Content) -> list[Text]:
    """The recipient and the date on top, the number beside its label, the sender at the foot."""
    house = HOUSES[content.language]
    texts = [Text(60, 70 + 14 * row, 10.5, line) for row, line in enumerate(OTHER_HOUSE)]
    texts += [
        Text(340, 70, 9, content.say.label("day")), Text(450, 70, 9, content.say.day(content.day)),
        Text(340, 84, 9, content.say.label("customer_number")), Text(450, 84, 9, "K-4471"),
    ]  # fmt: skip
    texts += [Text(60, 170, 10.5, content.title), *_running(content, 205, size=10.5)]
    return [
        *texts,
        Text(60, 790, 8, " - ".join(house)),
        Text(60, 802, 8, "IBAN DE02 1203 0000 0000 2020 51"),
    ]


def _facts(content: Content) -> list[tuple[str, str]]:
    say, kind = content.say, content.kind
    number = say.label(f"{_NUMBERED[kind]}.number") if kind in _NUMBERED else "No."
    facts = [(number, content.number), (say.label("day"), say.day(content.day))]
    if kind == "credit_note":
        facts.append((say.label("preceding_invoice_number"), f"R{content.random.randrange(10000)}"))
    if kind in ("delivery_note", "shipping"):
        facts.append((say.label("order_number"), f"B{content.random.randrange(10000)}"))
    if kind in ("purchase_order", "confirmation"):
        facts.append((say.label("delivery_date"), say.day(content.day + timedelta(20))))
    return facts


_NUMBERED = {
    "delivery_note": "delivery_note",
    "credit_note": "credit",
    "invoice": "invoice",
    "purchase_order": "purchase_order",
    "confirmation": "purchase_order",
}
"""The wording of the label of a paper's number, by kind."""


def _table(content: Content, y: float, *, left: float = 60, right: float = 540) -> list[Text]:
    say, random_ = content.say, content.random
    goods = content.kind in ("delivery_note", "shipping")
    is_priced = not goods or (content.kind == "delivery_note" and random_.random() < 0.25)
    span = right - left
    columns = [left, left + 0.55 * span, left + 0.7 * span, left + 0.86 * span]
    heads = [say.label("description"), say.label("quantity")]
    heads += [say.label("unit_price"), say.label("net_amount")] if is_priced else [say.label("unit")]
    texts = [Text(x, y, 9, head) for x, head in zip(columns, heads, strict=False)]
    net, sign = Decimal(0), -1 if content.kind == "credit_note" and random_.random() < 0.4 else 1
    for _ in range(random_.randrange(2, 7)):
        y += 15
        count, price = random_.randrange(1, 40), Decimal(random_.randrange(200, 20000)) / 100
        net += sign * count * price
        figures = [say.number(price), say.number(sign * count * price)] if is_priced else ["pcs"]
        cells = [random_.choice(GOODS), str(count), *figures]
        texts += [Text(x, y, 9, cell) for x, cell in zip(columns, cells, strict=False)]
    if is_priced:
        tax = (net / 5).quantize(Decimal("0.01"))
        sums = (("net_total", net), ("tax_total", tax), ("gross_total", net + tax))
        for name, value in sums:
            y += 16
            texts += [Text(columns[1], y, 9, say.label(name)), Text(columns[3], y, 9, say.money(value))]
    elif random_.random() < 0.5:
        texts.append(Text(left, y + 60, 8, say.label("signature")))
    return texts


def _parties(content: Content, y: float) -> list[Text]:
    shipping = _SHIPPING[content.language]
    if content.kind != "shipping":
        label = content.say.label("ship" if content.kind == "delivery_note" else "buyer")
        return [
            Text(60, y, 8, label),
            *(Text(60, y + 14 * (1 + row), 10, line) for row, line in enumerate(OTHER_HOUSE)),
        ]
    texts: list[Text] = []
    blocks = (HOUSES[content.language], OTHER_HOUSE, ("Kestrel Freight", "4 Dock Road"))
    for at, (label, lines) in enumerate(zip(shipping, blocks, strict=False)):
        texts += [Text(60 + 170 * at, y + 12 * row, 9, line) for row, line in enumerate((label, *lines))]
    weight = str(content.random.randrange(40, 900))
    return [
        *texts,
        Text(60, y + 62, 9, f"{shipping[3]}: 4"),
        Text(230, y + 62, 9, f"{shipping[4]}: {weight}"),
    ]


def large_title(content: Content) -> list[Text]:
    house = HOUSES[content.language]
    texts = [
        Text(60, 60, 20, content.title),
        *(Text(400, 60 + 12 * row, 9, line) for row, line in enumerate(house)),
    ]
    for row, (label, value) in enumerate(_facts(content)):
        texts += [Text(330, 130 + 14 * row, 9, label), Text(460, 130 + 14 * row, 9, value)]
    return [*texts, *_parties(content, 130), *_table(content, 260)]


def capitals_right(content: Content) -> list[Text]:
    house = HOUSES[content.language]
    texts = [Text(60, 50 + 13 * row, 11, line) for row, line in enumerate(house)]
    texts.append(Text(330, 110, 13, content.title.upper()))
    for at, (label, value) in enumerate(_facts(content)):
        texts += [Text(60 + 120 * at, 140, 8, label), Text(60 + 120 * at, 153, 9, value)]
    return [*texts, *_parties(content, 190), *_table(content, 290)]


def list_only(content: Content) -> list[Text]:
    """No letterhead and no addresses: title, facts in one row, the table."""
    facts = "   ".join(f"{label}: {value}" for label, value in _facts(content)[:2])
    return [Text(60, 60, 11, content.title), Text(60, 80, 9, facts), *_table(content, 110)]


def one_size(content: Content) -> list[Text]:
    """As a program prints it: one size, the title on the line of the sender."""
    house = HOUSES[content.language]
    texts = [Text(60, 60, 10, house[0]), Text(360, 60, 10, content.title)]
    texts += [Text(60, 74, 10, ", ".join(house[1:]))]
    texts += [
        Text(60, 110 + 14 * row, 10, f"{label}: {value}")
        for row, (label, value) in enumerate(_facts(content))
    ]
    return [*texts, *_parties(content, 170), *_table(content, 270)]


def strip(content: Content) -> list[Text]:
    """As wide as the paper of a till."""
    house = HOUSES[content.language]
    texts = [Text(30, 30 + 12 * row, 9, line) for row, line in enumerate(house)]
    texts.append(Text(30, 80, 10, content.title))
    texts += [
        Text(30, 100 + 13 * row, 9, f"{label} {value}") for row, (label, value) in enumerate(_facts(content))
    ]
    y = 150.0
    for _ in range(content.random.randrange(2, 8)):
        texts += [
            Text(30, y, 9, content.random.choice(GOODS)),
            Text(220, y, 9, str(content.random.randrange(1, 30))),
        ]
        y += 13
    return [*texts, Text(30, y + 40, 9, content.say.label("signature"))]
