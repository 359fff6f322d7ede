"""Made-up papers of `type_papers.toml`, laid out in ways that no page is on which a model was trained.

Each is its title and text in each of several layouts: letters with an address window, with the sender at the
foot, in one size of print; forms with a large title, lists without a letterhead, strips of a till's width.
"""

import random
import tomllib
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmill.demo import wording
from docmill.demo.wording import Wording
from docmill.model.document import Document, Page, Words

_FILE = Path(__file__).with_suffix(".toml")
_WIDTH, _HEIGHT = 595.0, 842.0
_GLYPH = 0.52
"""Width of a letter, as a share of the size of print."""
_PROSE = ("reminder", "contract", "letter", "other")
_TYPES = {"shipping": "delivery_note"}
_SHIPPING = {
    "en": ("Shipper", "Consignee", "Carrier", "Packages", "Gross weight (kg)"),
    "de": ("Absender", "Empfänger", "Frachtführer", "Packstücke", "Bruttogewicht kg"),
    "fr": ("Expéditeur", "Destinataire", "Transporteur", "Colis", "Poids brut (kg)"),
    "es": ("Remitente", "Destinatario", "Transportista", "Bultos", "Peso bruto kg"),
    "it": ("Mittente", "Destinatario", "Vettore", "Colli", "Peso lordo kg"),
    "nl": ("Afzender", "Geadresseerde", "Vervoerder", "Colli", "Brutogewicht kg"),
    "pl": ("Nadawca", "Odbiorca", "Przewoźnik", "Liczba sztuk", "Waga brutto kg"),
    "pt": ("Expedidor", "Destinatário", "Transportador", "Volumes", "Peso bruto kg"),
}
_WORDINGS = {
    "en": wording.BRITISH, "de": wording.GERMAN, "fr": wording.FRENCH, "es": wording.SPANISH,
    "it": wording.ITALIAN, "nl": wording.DUTCH, "pl": wording.POLISH, "pt": wording.PORTUGUESE,
}  # fmt: skip
_GOODS = ("Brackets 40 mm", "Oak board", "Valve DN 25", "Cable 3 x 1.5", "Paint white", "Filter", "Seal kit")
_HOUSES = {
    "en": ("Harbour Tools Ltd", "12 Quay Street", "Bristol BS1 4ZZ"),
    "de": ("Nordlicht Technik GmbH", "Deichweg 5", "28195 Bremen"),
    "fr": ("Ateliers du Midi SARL", "8 rue des Forges", "31000 Toulouse"),
    "es": ("Talleres del Norte S.L.", "Calle Mayor 21", "48001 Bilbao"),
    "it": ("Officine Adriatiche S.r.l.", "Via Roma 14", "60121 Ancona"),
    "nl": ("Polder Techniek B.V.", "Kanaalweg 3", "3526 KL Utrecht"),
    "pl": ("Zakład Wisła Sp. z o.o.", "ul. Długa 7", "31-147 Kraków"),
    "pt": ("Oficinas do Tejo, Lda.", "Rua Nova 10", "1200-370 Lisboa"),
}
_OTHER_HOUSE = ("Bellmann & Croft", "Parkallee 9", "4021 Westbury")


class TypePaper(NamedTuple):
    """A made-up paper. is_set_aside: its errors are not looked at.

    truth: its sender, date, number and subject, each as printed or empty.
    """

    document: Document
    document_type: str
    language: str
    layout: str
    is_set_aside: bool
    truth: dict[str, str]


class _Text(NamedTuple):
    x: float
    y: float
    size: float
    text: str


class _Content(NamedTuple):
    kind: str
    language: str
    title: str
    body: tuple[str, ...]
    number: str
    day: date
    random: random.Random

    @property
    def say(self) -> Wording:
        return _WORDINGS[self.language]


def type_papers(seed: int = 7) -> list[TypePaper]:
    """Every paper in every layout of its kind; the same seed gives the same papers."""
    texts = tomllib.loads(_FILE.read_text("utf-8"))
    random_ = random.Random(seed)
    papers: list[TypePaper] = []
    for kind, by_language in texts.items():
        layouts = _LETTERS if kind in _PROSE else _STRIPS_TOO if kind == "delivery_note" else _FORMS
        for language, titles in by_language.items():
            for index, entry in enumerate(titles):
                for layout in layouts:
                    content = _content(kind, language, entry, random_)
                    page = _page(layout(content), narrow=layout is _strip)
                    papers.append(
                        TypePaper(
                            Document("0" * 64, "application/pdf", [page], language=None),
                            _TYPES.get(kind, kind),
                            language,
                            layout.__name__.strip("_"),
                            index % 2 == 1,
                            {
                                "sender": _HOUSES[language][0],
                                "date": content.day.isoformat(),
                                "number": content.number if content.number in page.text else "",
                                "subject": content.title,
                            },
                        )
                    )
    return papers


def _content(kind: str, language: str, entry: str | list[str], random_: random.Random) -> _Content:
    title, body = (entry, "") if isinstance(entry, str) else entry
    day = date(2026, 1, 5) + timedelta(days=random_.randrange(300))
    number = random_.choice(("A-{}", "2026/{}", "{}", "NR{}")).format(random_.randrange(1000, 99999))
    say = _WORDINGS[language]

    def filled(text: str) -> str:
        text = text.replace("~A", _HOUSES[language][0]).replace("~B", _OTHER_HOUSE[0]).replace("#", number)
        for sign in "@$":
            while sign in text:
                other = say.day(day - timedelta(days=random_.randrange(20, 60)))
                value = other if sign == "@" else say.money(Decimal(random_.randrange(2000, 900000)) / 100)
                text = text.replace(sign, value.replace("$", "USD"), 1)
        return text

    lines = tuple(filled(line) for line in body.split("|") if line)
    return _Content(kind, language, filled(title), lines, number, day, random_)


def _wrapped(text: str, width: int = 88) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _running(content: _Content, y: float, *, size: float = 10, pitch: float = 16) -> list[_Text]:
    texts: list[_Text] = []
    for paragraph in content.body:
        for line in _wrapped(paragraph):
            texts += [
                _Text(60 + 150 * at, y, size, cell.strip())
                for at, cell in enumerate(line.split("   "))
                if cell
            ]
            y += pitch
        y += pitch / 2
    return texts


def _window_letter(content: _Content) -> list[_Text]:
    """An address window, the date at the right, the subject a little larger."""
    house = _HOUSES[content.language]
    return [
        _Text(380, 60, 14, house[0]), _Text(380, 78, 9, house[1]), _Text(380, 90, 9, house[2]),
        *(_Text(60, 130 + 14 * row, 10, line) for row, line in enumerate(_OTHER_HOUSE)),
        _Text(420, 200, 10, content.say.day(content.day)),
        _Text(60, 240, 12, content.title),
        *_running(content, 280),
    ]  # fmt: skip


def _plain_letter(content: _Content) -> list[_Text]:
    """One size of print throughout."""
    house = _HOUSES[content.language]
    head = (*house, "", *_OTHER_HOUSE, "", f"{house[2].split()[-1]}, {content.say.day(content.day)}", "")
    texts = [_Text(70, 60 + 15 * row, 11, line) for row, line in enumerate(head)]
    return [*texts, _Text(70, 210, 11, content.title), *_running(content, 245, size=11, pitch=18)]


def _centred_page(content: _Content) -> list[_Text]:
    """A large title in the middle, no letterhead, the date below the text."""
    left = (_WIDTH - len(content.title) * 18 * _GLYPH) / 2
    body = _running(content, 130)
    end = body[-1].y if body else 130
    place = f"{_HOUSES[content.language][2].split()[-1]}, {content.say.day(content.day)}"
    return [_Text(max(40, left), 80, 18, content.title), *body, _Text(60, end + 50, 10, place)]


def _foot_letter(content: _Content) -> list[_Text]:
    """The recipient and the date on top, the number beside its label, the sender at the foot."""
    house = _HOUSES[content.language]
    texts = [_Text(60, 70 + 14 * row, 10.5, line) for row, line in enumerate(_OTHER_HOUSE)]
    texts += [
        _Text(340, 70, 9, content.say.label("day")), _Text(450, 70, 9, content.say.day(content.day)),
        _Text(340, 84, 9, content.say.label("customer_number")), _Text(450, 84, 9, "K-4471"),
    ]  # fmt: skip
    texts += [_Text(60, 170, 10.5, content.title), *_running(content, 205, size=10.5)]
    return [
        *texts,
        _Text(60, 790, 8, " - ".join(house)),
        _Text(60, 802, 8, "IBAN DE02 1203 0000 0000 2020 51"),
    ]


def _facts(content: _Content) -> list[tuple[str, str]]:
    say, kind = content.say, content.kind
    number = (
        content.say.label(f"{'credit' if kind == 'credit_note' else kind}.number")
        if kind in _NAMED
        else "No."
    )
    facts = [(number, content.number), (say.label("day"), say.day(content.day))]
    if kind == "credit_note":
        facts.append((say.label("preceding_invoice_number"), f"R{content.random.randrange(10000)}"))
    if kind in ("delivery_note", "shipping"):
        facts.append((say.label("order_number"), f"B{content.random.randrange(10000)}"))
    return facts


_NAMED = ("delivery_note", "credit_note", "invoice")


def _table(content: _Content, y: float, *, left: float = 60, right: float = 540) -> list[_Text]:
    say, random_ = content.say, content.random
    goods = content.kind in ("delivery_note", "shipping")
    is_priced = not goods or (content.kind == "delivery_note" and random_.random() < 0.25)
    span = right - left
    columns = [left, left + 0.55 * span, left + 0.7 * span, left + 0.86 * span]
    heads = [say.label("description"), say.label("quantity")]
    heads += [say.label("unit_price"), say.label("net_amount")] if is_priced else [say.label("unit")]
    texts = [_Text(x, y, 9, head) for x, head in zip(columns, heads, strict=False)]
    net, sign = Decimal(0), -1 if content.kind == "credit_note" and random_.random() < 0.4 else 1
    for _ in range(random_.randrange(2, 7)):
        y += 15
        count, price = random_.randrange(1, 40), Decimal(random_.randrange(200, 20000)) / 100
        net += sign * count * price
        figures = [say.number(price), say.number(sign * count * price)] if is_priced else ["pcs"]
        cells = [random_.choice(_GOODS), str(count), *figures]
        texts += [_Text(x, y, 9, cell) for x, cell in zip(columns, cells, strict=False)]
    if is_priced:
        tax = (net / 5).quantize(Decimal("0.01"))
        sums = (("net_total", net), ("tax_total", tax), ("gross_total", net + tax))
        for name, value in sums:
            y += 16
            texts += [_Text(columns[1], y, 9, say.label(name)), _Text(columns[3], y, 9, say.money(value))]
    elif random_.random() < 0.5:
        texts.append(_Text(left, y + 60, 8, say.label("signature")))
    return texts


def _parties(content: _Content, y: float) -> list[_Text]:
    shipping = _SHIPPING[content.language]
    if content.kind != "shipping":
        label = content.say.label("ship" if content.kind == "delivery_note" else "buyer")
        return [
            _Text(60, y, 8, label),
            *(_Text(60, y + 14 * (1 + row), 10, line) for row, line in enumerate(_OTHER_HOUSE)),
        ]
    texts: list[_Text] = []
    blocks = (_HOUSES[content.language], _OTHER_HOUSE, ("Kestrel Freight", "4 Dock Road"))
    for at, (label, lines) in enumerate(zip(shipping, blocks, strict=False)):
        texts += [_Text(60 + 170 * at, y + 12 * row, 9, line) for row, line in enumerate((label, *lines))]
    weight = str(content.random.randrange(40, 900))
    return [
        *texts,
        _Text(60, y + 62, 9, f"{shipping[3]}: 4"),
        _Text(230, y + 62, 9, f"{shipping[4]}: {weight}"),
    ]


def _large_title(content: _Content) -> list[_Text]:
    house = _HOUSES[content.language]
    texts = [
        _Text(60, 60, 20, content.title),
        *(_Text(400, 60 + 12 * row, 9, line) for row, line in enumerate(house)),
    ]
    for row, (label, value) in enumerate(_facts(content)):
        texts += [_Text(330, 130 + 14 * row, 9, label), _Text(460, 130 + 14 * row, 9, value)]
    return [*texts, *_parties(content, 130), *_table(content, 260)]


def _capitals_right(content: _Content) -> list[_Text]:
    house = _HOUSES[content.language]
    texts = [_Text(60, 50 + 13 * row, 11, line) for row, line in enumerate(house)]
    texts.append(_Text(330, 110, 13, content.title.upper()))
    for at, (label, value) in enumerate(_facts(content)):
        texts += [_Text(60 + 120 * at, 140, 8, label), _Text(60 + 120 * at, 153, 9, value)]
    return [*texts, *_parties(content, 190), *_table(content, 290)]


def _list_only(content: _Content) -> list[_Text]:
    """No letterhead and no addresses: title, facts in one row, the table."""
    facts = "   ".join(f"{label}: {value}" for label, value in _facts(content)[:2])
    return [_Text(60, 60, 11, content.title), _Text(60, 80, 9, facts), *_table(content, 110)]


def _one_size(content: _Content) -> list[_Text]:
    """As a program prints it: one size, the title on the line of the sender."""
    house = _HOUSES[content.language]
    texts = [_Text(60, 60, 10, house[0]), _Text(360, 60, 10, content.title)]
    texts += [_Text(60, 74, 10, ", ".join(house[1:]))]
    texts += [
        _Text(60, 110 + 14 * row, 10, f"{label}: {value}")
        for row, (label, value) in enumerate(_facts(content))
    ]
    return [*texts, *_parties(content, 170), *_table(content, 270)]


def _strip(content: _Content) -> list[_Text]:
    """As wide as the paper of a till."""
    house = _HOUSES[content.language]
    texts = [_Text(30, 30 + 12 * row, 9, line) for row, line in enumerate(house)]
    texts.append(_Text(30, 80, 10, content.title))
    texts += [
        _Text(30, 100 + 13 * row, 9, f"{label} {value}") for row, (label, value) in enumerate(_facts(content))
    ]
    y = 150.0
    for _ in range(content.random.randrange(2, 8)):
        texts += [
            _Text(30, y, 9, content.random.choice(_GOODS)),
            _Text(220, y, 9, str(content.random.randrange(1, 30))),
        ]
        y += 13
    return [*texts, _Text(30, y + 40, 9, content.say.label("signature"))]


_Layout = Callable[[_Content], Sequence[_Text]]
_LETTERS: tuple[_Layout, ...] = (_window_letter, _plain_letter, _centred_page, _foot_letter)
_FORMS: tuple[_Layout, ...] = (_large_title, _capitals_right, _list_only, _one_size)
_STRIPS_TOO: tuple[_Layout, ...] = (*_FORMS, _strip)


def _page(texts: Sequence[_Text], *, narrow: bool) -> Page:
    width_pt = 270.0 if narrow else _WIDTH
    height_pt = max(420.0, max(text.y for text in texts) + 40) if narrow else _HEIGHT
    rows = sorted({text.y for text in texts})
    words: list[tuple[int, tuple[float, float, float, float], str]] = []
    for text in sorted(texts, key=lambda text: (text.y, text.x)):
        x = text.x
        for word in text.text.split():
            stop = x + len(word) * text.size * _GLYPH
            box = (
                x / width_pt,
                (text.y - 0.75 * text.size) / height_pt,
                stop / width_pt,
                (text.y + 0.2 * text.size) / height_pt,
            )
            words.append((rows.index(text.y), (min(box[0], 0.99), box[1], min(box[2], 1.0), box[3]), word))
            x = stop + text.size * _GLYPH
    return Page(
        number=1, width_pt=width_pt, height_pt=height_pt,
        words=Words(
            [word for _, _, word in words],
            np.array([box for _, box, _ in words], np.float32).reshape(-1, 4),
            np.ones(len(words), np.float32),
            np.array([row for row, _, _ in words], np.int32),
            np.zeros(len(words), np.int32),
        ),
        source="text", quality=1.0,
    )  # fmt: skip
