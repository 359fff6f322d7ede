"""Made-up papers of `type_papers.toml`, laid out in ways that no page is on which a model was trained.

Each is its title and text in each layout of its kind, with a text layer and as recognition reads a picture.
"""

import random
import tomllib
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.data import type_paper_accounts as accounts
from bench.data import type_paper_layouts as layouts
from bench.data.type_paper_layouts import (
    GLYPH,
    HEIGHT_PT,
    HOUSES,
    OTHER_HOUSE,
    WIDTH_PT,
    Content,
    Text,
)
from docmill.demo import wording
from docmill.model.document import Document, Page, Words
from docmill.training.simulated_ocr import simulate_recognition

_FILE = Path(__file__).with_suffix(".toml")
_TYPES = {
    "shipping": "delivery_note",
    "confirmation": "purchase_order",
    "proforma": "quote",
    "open_items": "other",
}
_WORDINGS = {
    "en": wording.BRITISH, "de": wording.GERMAN, "fr": wording.FRENCH, "es": wording.SPANISH,
    "it": wording.ITALIAN, "nl": wording.DUTCH, "pl": wording.POLISH, "pt": wording.PORTUGUESE,
    "sv": wording.SWEDISH, "da": wording.DANISH,
}  # fmt: skip

_NARROW = 270.0
_Layout = Callable[[Content], Sequence[Text]]
_LETTERS: tuple[_Layout, ...] = (
    layouts.window_letter,
    layouts.plain_letter,
    layouts.centred_page,
    layouts.foot_letter,
)
_FORMS: tuple[_Layout, ...] = (
    layouts.large_title,
    layouts.capitals_right,
    layouts.list_only,
    layouts.one_size,
)
_BY_KIND: dict[str, tuple[_Layout, ...]] = {
    **dict.fromkeys(("reminder", "contract", "letter", "other"), _LETTERS),
    "delivery_note": (*_FORMS, layouts.strip),
    "receipt": (accounts.till, accounts.till_by_card),
    "bank_statement": (accounts.account, accounts.account_list),
    "open_items": (accounts.open_items,),
    "payslip": (accounts.payslip, accounts.payslip_labels),
}
_STRIPS = (layouts.strip, accounts.till, accounts.till_by_card)


class TypePaper(NamedTuple):
    """A made-up paper. is_set_aside: its errors are not looked at.

    kind: the table of its text. form: `text` or `picture`. truth: its sender, date, number and subject, each
    as printed or empty.
    """

    document: Document
    document_type: str
    kind: str
    language: str
    layout: str
    form: str
    is_set_aside: bool
    truth: dict[str, str]


def type_papers(seed: int = 7) -> list[TypePaper]:
    """Every paper in every layout of its kind; the same seed gives the same papers."""
    texts = tomllib.loads(_FILE.read_text("utf-8"))
    random_ = random.Random(seed)
    return [
        paper
        for kind, by_language in texts.items()
        for language, entries in by_language.items()
        for index, entry in enumerate(entries)
        for paper in _laid_out(_content(kind, language, entry, random_), is_set_aside=index % 2 == 1)
    ]


def _laid_out(content: Content, *, is_set_aside: bool) -> list[TypePaper]:
    papers: list[TypePaper] = []
    for layout, page, picture in typeset(content):
        truth = {
            "sender": HOUSES[content.language][0],
            "date": content.day.isoformat(),
            "number": content.number if content.number in page.text else "",
            "subject": content.title,
        }
        document_type = _TYPES.get(content.kind, content.kind)
        document = Document("0" * 64, "application/pdf", [page], language=None)
        papers += [
            TypePaper(file, document_type, content.kind, content.language, layout, form, is_set_aside, truth)
            for form, file in (("text", document), ("picture", picture))
        ]
    return papers


def _content(kind: str, language: str, entry: str | list[str], random_: random.Random) -> Content:
    title, body = (entry, "") if isinstance(entry, str) else entry
    day = date(2026, 1, 5) + timedelta(days=random_.randrange(300))
    number = random_.choice(("A-{}", "2026/{}", "{}", "NR{}")).format(random_.randrange(1000, 99999))
    say = _WORDINGS[language]

    def filled(text: str) -> str:
        text = text.replace("~A", HOUSES[language][0]).replace("~B", OTHER_HOUSE[0]).replace("#", number)
        for sign in "@$":
            while sign in text:
                other = say.day(day - timedelta(days=random_.randrange(20, 60)))
                value = other if sign == "@" else say.money(Decimal(random_.randrange(2000, 900000)) / 100)
                text = text.replace(sign, value.replace("$", "USD"), 1)
        return text

    lines = tuple(filled(line) for line in body.split("|") if line)
    return Content(kind, language, filled(title), lines, number, day, say, random_)


def typeset(content: Content) -> list[tuple[str, Page, Document]]:
    """The paper in each layout of its kind: the layout's name, the page, and a recognised picture of it."""
    pages: list[tuple[str, Page, Document]] = []
    for layout in _BY_KIND.get(content.kind, _FORMS):
        texts = layout(content)
        name = layout.__name__
        page = page_of(texts, narrow=layout in _STRIPS)
        pages.append((name, page, simulate_recognition(page, content.random)))
    return pages


def page_of(texts: Sequence[Text], *, narrow: bool) -> Page:
    width_pt = _NARROW if narrow else WIDTH_PT
    height_pt = max(420.0, max(text.y for text in texts) + 40) if narrow else HEIGHT_PT
    rows = sorted({text.y for text in texts})
    words: list[tuple[int, tuple[float, float, float, float], str]] = []
    for text in sorted(texts, key=lambda text: (text.y, text.x)):
        x = text.x
        for word in text.text.split():
            stop = x + len(word) * text.size * GLYPH
            box = (
                x / width_pt,
                (text.y - 0.75 * text.size) / height_pt,
                stop / width_pt,
                (text.y + 0.2 * text.size) / height_pt,
            )
            words.append((rows.index(text.y), (min(box[0], 0.99), box[1], min(box[2], 1.0), box[3]), word))
            x = stop + text.size * GLYPH
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
