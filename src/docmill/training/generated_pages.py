"""Made-up pages to learn types from: of the vocabulary's phrases, in every language, laid out by chance.

They stand beside real documents for the types and languages that those lack. What is printed between the
phrases means nothing. The same seed gives the same pages.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from docmill.model.document import Document, Page, Words
from docmill.schemas.document_types import DocumentType
from docmill.training.simulated_ocr import simulate_recognition
from docmill.understanding.vocabulary import LANGUAGES, Column, Concept, Language

_WIDTH, _HEIGHT = 595.0, 842.0
_RECOGNISED = 0.4
"""Share of the pages that are read from a picture."""
_CROPPED = 0.3
"""Share of the pictures that end at the print."""
_LINE = 0.016
_CHARACTER = 0.0088
_SYLLABLES = (
    "ba", "con", "der", "el", "fa", "gro", "hin", "im", "ja", "kel", "lo", "mar", "nis", "or", "pul", "qua",
    "rea", "sto", "ti", "un", "ver", "wal", "ze", "schra", "lin", "tor",
)  # fmt: skip
_CURRENCIES = ("EUR", "USD", "GBP", "€", "$", "£", "CHF", "")
_FOUR = (1000, 9999)
_WITH_STRANGE_WORDS = 0.3
"""Share of them that bear labels of other papers, too."""
_WITH_TERMS = 0.25
"""Share of the papers of business that have terms printed on them."""
_TITLE = 2.5
"""Weight of a phrase that may be the title of a page."""

_Cells = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The labels of one type's papers. head, sums: with a value each; table: above its columns.

    priced, titled, narrow: the shares of such papers that say what things cost, that say what they are, and
    that are as wide as the slips of a till.
    """

    head: tuple[Concept, ...]
    table: tuple[Concept, ...] = ()
    sums: tuple[Concept, ...] = ()
    parties: tuple[Concept, ...] = ()
    foot: tuple[Concept, ...] = ()
    priced: float = 1.0
    titled: float = 0.9
    narrow: float = 0.02


_MEANINGS = sorted(Concept)
_C = Concept
_OF_ONE_TYPE = frozenset({_C.INVOICE_NUMBER, _C.STATEMENT_NUMBER, _C.DELIVERY_NOTE_NUMBER})
_PLANS: Mapping[DocumentType, _Plan] = {
    "invoice": _Plan(
        (
            _C.INVOICE_NUMBER,
            _C.INVOICE_DATE,
            _C.DUE_DATE,
            _C.CUSTOMER_NUMBER,
            _C.ORDER_NUMBER,
            _C.DELIVERY_NOTE_NUMBER,
        ),
        (_C.QUANTITY, _C.PRICE, _C.TAX, _C.AMOUNT),
        (_C.NET, _C.SUBTOTAL, _C.TAX, _C.TOTAL, _C.DUE),
        (_C.BUYER, _C.SHIP_TO),
        (_C.BANK, _C.IBAN, _C.BIC, _C.VAT_NUMBER, _C.REGISTRATION_NUMBER),
    ),
    "receipt": _Plan(
        (_C.RECEIPT_NUMBER, _C.DATE, _C.TIME, _C.TAX_NUMBER),
        (_C.QUANTITY, _C.PRICE, _C.AMOUNT),
        (_C.SUBTOTAL, _C.TAX, _C.TOTAL, _C.PAID, _C.CHANGE, _C.TIP),
        (),
        (_C.COURTESY, _C.PHONE),
        titled=0.5,
        narrow=0.85,
    ),
    "purchase_order": _Plan(
        (_C.ORDER_NUMBER, _C.PURCHASE_ORDER_NUMBER, _C.ORDER_DATE, _C.DELIVERY_DATE, _C.CUSTOMER_NUMBER),
        (_C.QUANTITY, _C.PRICE, _C.AMOUNT),
        (_C.NET, _C.TAX, _C.TOTAL),
        (_C.SELLER, _C.SHIP_TO, _C.BUYER),
        (_C.CONTACT, _C.VAT_NUMBER),
        priced=0.85,
    ),
    "delivery_note": _Plan(
        (_C.DELIVERY_NOTE_NUMBER, _C.DELIVERY_DATE, _C.ORDER_NUMBER, _C.CUSTOMER_NUMBER, _C.DATE),
        (_C.QUANTITY, _C.PRICE, _C.AMOUNT),
        (_C.TOTAL, _C.TAX),
        (_C.SHIP_TO, _C.BUYER, _C.SELLER),
        (_C.CONTACT, _C.PHONE, _C.VAT_NUMBER),
        priced=0.35,
        narrow=0.15,
    ),
    "bank_statement": _Plan(
        (_C.STATEMENT_NUMBER, _C.PERIOD, _C.ACCOUNT, _C.IBAN, _C.BIC, _C.DATE),
        (_C.DATE, _C.AMOUNT),
        (_C.OPENING_BALANCE, _C.CLOSING_BALANCE),
        (),
        (_C.BANK, _C.PHONE),
    ),
    "other": _Plan(
        (_C.DATE, _C.CUSTOMER_NUMBER, _C.DOCUMENT_NUMBER),
        (_C.QUANTITY, _C.PRICE, _C.AMOUNT),
        (_C.TOTAL,),
        (_C.BUYER,),
        (_C.CONTACT, _C.PHONE, _C.BANK),
    ),
}


def generate_pages(count: int, *, seed: int) -> list[tuple[Document, DocumentType]]:
    """Generate `count` pages of each type; of `other` three times as many, since they are of many kinds."""
    random_ = random.Random(seed)  # noqa: S311 - papers, not secrets
    pages: list[tuple[Document, DocumentType]] = []
    for document_type in _PLANS:
        makers = _MAKERS.get(document_type, _BUSINESS)
        for index in range(count * (3 if document_type == "other" else 1)):
            writer = _Writer(random_, random_.choice(LANGUAGES))
            makers[index % len(makers)](writer, document_type)
            page = _page(writer.rows, narrow=writer.narrow)
            document = Document("0" * 64, "application/pdf", [page])
            if writer.chance(_RECOGNISED):
                document = simulate_recognition(page, random_, is_cropped=writer.chance(_CROPPED))
            pages.append((document, document_type))
    return pages


@dataclass
class _Writer:
    """Writes one page from top to bottom."""

    random: random.Random
    language: Language
    rows: list[_Cells] = field(default_factory=list[_Cells])
    narrow: bool = False

    def row(self, *cells: tuple[float, str]) -> None:
        """A row of texts at these places across the page; an empty one is a gap."""
        self.rows.append(tuple(cell for cell in cells if cell[1]))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def word(self) -> str:
        return "".join(self.random.choices(_SYLLABLES, k=self.random.randint(1, 3)))

    def words(self, count: int) -> str:
        common = sorted(self.language.common)
        return " ".join(
            self.random.choice(common) if self.chance(0.45) else self.word() for _ in range(count)
        )

    def cased(self, phrase: str, *numbers: str) -> str:
        """The phrase in one of the usual cases. numbers: what `#` may be printed as."""
        if numbers:
            phrase = phrase.replace("#", self.random.choice(numbers))
        return self.random.choice((str.title, str.upper, str.capitalize))(phrase)

    def label(self, concept: Concept) -> str:
        """One of the language's phrases for it, or of English, or nothing."""
        phrases = self.language.labels.get(concept) or LANGUAGES[0].labels.get(concept) or ("",)
        return self.cased(self.random.choice(phrases), "No.", "Nr", "#", "no")

    def title(self, document_type: DocumentType) -> str:
        """A phrase that can be a title of the type."""
        phrases = _titles(self.language, document_type)
        strong = sorted(phrase for phrase, weight in phrases.items() if weight >= _TITLE)
        return self.cased(self.random.choice(strong), "No.", "Nr", "#")

    def mention(self) -> str:
        """A phrase that is a sign of some document type."""
        titles: list[Mapping[str, float]] = [*self.language.titles.values(), self.language.others]
        return self.random.choice(sorted(self.random.choice(titles))).replace("#", "")

    def amount(self) -> str:
        value = self.random.choice((1, 10, 100, 1000)) * self.random.random() * 9 + 0.5
        text = f"{value:,.2f}"
        if self.language.code != "en":
            text = text.translate(str.maketrans(",.", ".,"))
        currency = self.random.choice(_CURRENCIES)
        return f"{text} {currency}".strip() if self.chance(0.6) else text

    def heading(self, *columns: Column) -> str:
        """A heading of the first of these columns that the language has words for."""
        phrases = next(
            (self.language.columns[column] for column in columns if column in self.language.columns), ()
        )
        return self.cased(self.random.choice(phrases or ("",)), "No.", "Nr", "#")

    def date(self) -> str:
        day, month, year = (self.random.randint(*span) for span in ((1, 28), (1, 12), (2008, 2027)))
        return self.random.choice(
            (f"{day:02}.{month:02}.{year}", f"{day:02}/{month:02}/{year}", f"{year}-{month:02}-{day:02}")
        )

    def value(self, concept: Concept) -> str:
        if concept.value.endswith("date") or concept is Concept.DATE:
            return self.date()
        if concept is Concept.PERIOD:
            return f"{self.date()} - {self.date()}"
        if concept in {Concept.IBAN, Concept.ACCOUNT}:
            check, first, second = (self.random.randint(*span) for span in ((10, 99), _FOUR, _FOUR))
            return f"DE{check} {first} {second}"
        if concept is Concept.TIME:
            return f"{self.random.randint(8, 22):02}:{self.random.randint(0, 59):02}"
        return f"{self.random.choice(('', 'A', 'RE-', 'KD', '2026-'))}{self.random.randint(100, 99999)}"

    def labelled(self, concept: Concept, separator: str = ": ") -> None:
        """A row with a label and its value."""
        self.row((0.1, f"{self.label(concept)}{separator}{self.value(concept)}"))

    def letterhead(self) -> None:
        legal = self.random.choice(self.language.legal or ("Ltd",))
        self.row((0.1, f"{self.word()} {self.word()} {legal}".title()))
        self.row((0.1, f"{self.word().title()} {self.random.randint(1, 99)}"))
        self.row((0.1, f"{self.random.randint(10000, 99999)} {self.word().title()}"))
        self.row()

    def sentences(self, count: int, *, fewest: int, mentions: float) -> None:
        """Sentences of `fewest` to 13 words. mentions: the share that speaks of papers, of whatever type."""
        for _ in range(count):
            words = self.words(self.random.randint(fewest, 13)).split()
            if self.chance(mentions):
                words.insert(self.random.randint(0, len(words)), self.mention())
            self.row((0.1, " ".join(words)))

    def table(self, plan: _Plan) -> None:
        """Items with their figures, and the sums."""
        columns = [0.1, 0.55, 0.7, 0.85]
        priced = self.chance(plan.priced)
        heads = plan.table if priced else plan.table[:1]
        if self.chance(0.8):
            self.row((0.1, self.word().title()), *zip(columns[1:], map(self.label, heads), strict=False))
        for _ in range(self.random.randint(1, 14)):
            figures = [str(self.random.randint(1, 40)), *([self.amount(), self.amount()] if priced else [])]
            self.row((0.1, self.words(self.random.randint(1, 4))), *zip(columns[1:], figures, strict=False))
        sums = plan.sums if priced else ()
        for concept in self.random.sample(sums, k=self.random.randint(len(sums) // 2, len(sums))):
            self.row((0.5, self.label(concept)), (0.85, self.amount()))


def _titles(language: Language, document_type: DocumentType) -> Mapping[str, float]:
    """The phrases of the type's titles; English ones where the language has none that can stand alone."""
    for spoken in (language, LANGUAGES[0]):
        phrases = spoken.others if document_type == "other" else spoken.titles.get(document_type, {})
        if any(weight >= _TITLE for weight in phrases.values()):
            return phrases
    raise ValueError(f"no title is known of {document_type!r}")


def _business(writer: _Writer, document_type: DocumentType) -> None:
    """A paper with a title, labels, a table and sums."""
    random_, plan = writer.random, _PLANS[document_type]
    writer.narrow = writer.chance(plan.narrow)
    titled = writer.chance(plan.titled)
    above_letterhead = writer.chance(0.4)
    if titled and above_letterhead:
        writer.row((random_.choice((0.1, 0.4, 0.65)), writer.title(document_type)))
    writer.letterhead()
    for concept in random_.sample(plan.parties, k=min(len(plan.parties), random_.randint(0, 2))):
        writer.row((0.1, f"{writer.label(concept)}:"))
        writer.row((0.1, writer.words(2).title()))
    if titled and not above_letterhead:
        writer.row((random_.choice((0.1, 0.4, 0.65)), writer.title(document_type)))
    beside = writer.chance(0.5)
    for concept in random_.sample(plan.head, k=random_.randint(2, len(plan.head))):
        label, value = writer.label(concept), writer.value(concept)
        writer.row(*(((0.1, label), (0.5, value)) if beside else ((0.1, f"{label}: {value}"),)))
    writer.row()
    writer.table(plan)
    _foot(writer, document_type)


def _foot(writer: _Writer, document_type: DocumentType) -> None:
    """The lines below the sums."""
    random_, plan = writer.random, _PLANS[document_type]
    if writer.chance(0.3):
        writer.row((0.1, writer.words(random_.randint(6, 14))))
    for concept in random_.sample(plan.foot, k=random_.randint(0, len(plan.foot))):
        writer.labelled(concept)
    if writer.chance(_WITH_TERMS):
        writer.sentences(random_.randint(5, 40), fewest=8, mentions=0.3)
    if writer.chance(_WITH_STRANGE_WORDS):
        for concept in random_.sample(_MEANINGS, k=random_.randint(1, 3)):
            writer.labelled(concept)
    phrases = _titles(writer.language, document_type)
    weak = sorted(phrase for phrase, weight in phrases.items() if weight < _TITLE)
    for phrase in random_.sample(weak, k=min(len(weak), random_.randint(0, 3))):
        writer.row((0.1, writer.cased(phrase.replace("#", "Nr"))))


def _terse(writer: _Writer, document_type: DocumentType) -> None:
    """A title and little more."""
    random_, plan = writer.random, _PLANS[document_type]
    if writer.chance(0.5):
        writer.row((0.1, f"{writer.word()} {writer.word()} {random_.choice(writer.language.legal)}".title()))
        writer.row((0.1, f"{random_.randint(1, 99)} {writer.word().title()}"))
    number = writer.value(plan.head[0]) if writer.chance(0.5) else ""
    writer.row((0.1, f"{writer.title(document_type)} {number}".strip()))
    for concept in random_.sample(plan.head, k=random_.randint(0, 3)):
        writer.labelled(concept, " ")
    for _ in range(random_.randint(0, 3)):
        writer.row(
            (0.1, writer.words(random_.randint(1, 3))),
            (0.5, writer.amount() if writer.chance(plan.priced) else "4"),
        )
    for concept in random_.sample(plan.sums, k=random_.randint(1, len(plan.sums))):
        writer.row((0.1, writer.label(concept)), (0.5, writer.amount()))


def _booked(writer: _Writer, document_type: DocumentType) -> None:
    """A statement with its bookings: a date, a text, and amounts in one or two columns, perhaps a balance."""
    plan, random_ = _PLANS[document_type], writer.random
    if writer.chance(0.7):
        writer.row((0.1, f"{writer.word()} Bank".title()))
    writer.row(
        (random_.choice((0.1, 0.4)), writer.title(document_type)), (0.7, writer.value(_C.STATEMENT_NUMBER))
    )
    for concept in random_.sample(plan.head, k=random_.randint(1, 4)):
        writer.labelled(concept, " ")
    amounts = random_.choice(((Column.NET_AMOUNT,), (Column.DEBIT, Column.CREDIT)))
    columns = (Column.DATE, Column.DESCRIPTION, *amounts, *((Column.BALANCE,) if writer.chance(0.5) else ()))
    places = (0.1, 0.3, 0.6, 0.75, 0.88)
    writer.row(*zip(places, map(writer.heading, columns), strict=False))
    has_balances = writer.chance(0.6)
    if has_balances:
        writer.row((0.3, writer.label(_C.OPENING_BALANCE)), (0.75, writer.amount()))
    for _ in range(random_.randint(2, 25)):
        cells = [random_.choice(("-", "")) + writer.amount() for _ in columns[2:]]
        if len(amounts) > 1:
            cells[random_.randrange(2)] = ""
        writer.row((0.1, writer.date()), (0.3, writer.words(2)), *zip(places[2:], cells, strict=False))
    if has_balances:
        writer.row((0.3, writer.label(_C.CLOSING_BALANCE)), (0.75, writer.amount()))


def _open_items(writer: _Writer, _: DocumentType) -> None:
    """A seller's list of a customer's invoices: many numbers, dates and amounts, and no goods."""
    random_ = writer.random
    writer.letterhead()
    mentions = writer.chance(0.6)
    writer.row((0.1, writer.mention().title() if mentions else writer.words(2).title()))
    if writer.chance(0.5):
        writer.labelled(_C.CUSTOMER_NUMBER)
    concepts = (_C.INVOICE_NUMBER, random_.choice((_C.DATE, _C.INVOICE_DATE)), _C.DUE_DATE, _C.AMOUNT)
    places = (0.1, 0.3, 0.5, 0.75)
    writer.row(*zip(places, map(writer.label, concepts), strict=True))
    for _row in range(random_.randint(2, 20)):
        cells = (writer.value(_C.INVOICE_NUMBER), writer.date(), writer.date(), writer.amount())
        writer.row(*zip(places, cells, strict=True))
    total = random_.choice((_C.TOTAL, _C.DUE, _C.CLOSING_BALANCE))
    writer.row((0.5, writer.label(total)), (0.75, writer.amount()))


def _letter(writer: _Writer, _: DocumentType) -> None:
    """Sentences that may speak of papers of all types."""
    writer.letterhead()
    writer.row((0.6, writer.date()))
    writer.sentences(writer.random.randint(3, 30), fewest=6, mentions=0.25)
    writer.row((0.1, writer.words(2)))


def _titled(writer: _Writer, document_type: DocumentType) -> None:
    """An offer, a reminder, a payslip: like the papers of the other types but for its title."""
    business = [plan for name, plan in _PLANS.items() if name not in ("other", "receipt")]
    plan = writer.random.choice([*business, *[_PLANS["other"]] * 3])
    writer.row((writer.random.choice((0.1, 0.4)), writer.title(document_type)))
    writer.letterhead()
    head = [concept for concept in plan.head if concept not in _OF_ONE_TYPE]
    for concept in writer.random.sample(head, k=writer.random.randint(1, len(head))):
        writer.labelled(concept)
    writer.table(_PLANS["other"])
    if writer.chance(0.5):
        writer.row((0.1, writer.words(12)))


def _prose(writer: _Writer, document_type: DocumentType) -> None:
    """A page of a book or report."""
    if writer.chance(0.5):
        writer.row((0.3, writer.title(document_type) if writer.chance(0.4) else writer.words(3).title()))
    for _ in range(writer.random.randint(10, 45)):
        sentence = writer.words(writer.random.randint(8, 13))
        writer.row((0.1, f"{sentence} {writer.mention()}" if writer.chance(0.08) else sentence))


def _contents(writer: _Writer, document_type: DocumentType) -> None:
    """Titles with page numbers."""
    writer.row((0.1, writer.title(document_type)))
    for index in range(writer.random.randint(5, 35)):
        mentions = writer.chance(0.25)
        title = writer.mention().title() if mentions else writer.words(writer.random.randint(1, 5))
        writer.row((0.1, f"{index}. {title}"), (0.9, str(index * 3 + 1)))


def _scrap(writer: _Writer, _: DocumentType) -> None:
    """A logo, a stamp, a caption: a few words."""
    for _row in range(writer.random.randint(1, 4)):
        words = writer.words(writer.random.randint(1, 3))
        writer.row((writer.random.random() * 0.5, writer.cased(words)))
    if writer.chance(0.2):
        writer.row((0.3, writer.mention()))
    writer.narrow = writer.chance(0.5)


def _figures(writer: _Writer, document_type: DocumentType) -> None:
    """A price list or a spreadsheet: a table and nothing around it."""
    if writer.chance(0.5):
        writer.row((0.1, writer.title(document_type)))
    headings = [writer.label(concept) for concept in writer.random.sample(_MEANINGS, k=3)]
    writer.row((0.1, writer.word()), *zip((0.4, 0.6, 0.8), headings, strict=True))
    for _ in range(writer.random.randint(3, 40)):
        figures = [
            writer.amount() if writer.chance(0.5) else str(writer.random.randint(1, 999)) for _ in range(3)
        ]
        name = writer.words(writer.random.randint(1, 3))
        writer.row((0.1, name), *zip((0.4, 0.6, 0.8), figures, strict=True))


def _form(writer: _Writer, document_type: DocumentType) -> None:
    """Labels without values."""
    writer.row((0.1, writer.title(document_type)))
    for _ in range(writer.random.randint(5, 30)):
        writer.row((0.1, f"{writer.label(writer.random.choice(_MEANINGS))}: ____"), (0.6, writer.words(2)))


def _mail(writer: _Writer, document_type: DocumentType) -> None:
    """The head of a mail and a few sentences, often of an enclosed paper."""
    for head in ("From:", "To:", "Date:", "Subject:"):
        text = writer.mention() if head == "Subject:" and writer.chance(0.5) else writer.words(2)
        writer.row((0.1, f"{head} {text}"))
    _letter(writer, document_type)


_BUSINESS = (_business, _business, _terse)
_OTHERS: Sequence[Callable[[_Writer, DocumentType], None]] = (
    _letter, _titled, _titled, _prose, _contents, _scrap, _figures, _form, _mail, _open_items,
)  # fmt: skip
_MAKERS = {"other": _OTHERS, "bank_statement": (*_BUSINESS, _booked, _booked)}


def _page(rows: Sequence[_Cells], *, narrow: bool) -> Page:
    width = 1.6 * _CHARACTER if narrow else _CHARACTER
    pitch = min(_LINE, 0.94 / max(1, len(rows)))
    printed: list[tuple[int, tuple[float, float, float, float], str]] = []
    for row_index, row in enumerate(rows):
        top = 0.03 + row_index * pitch
        for x, text in row:
            at = x
            for word in text.split():
                box = (min(at, 0.99), top, min(1.0, at + len(word) * width), top + 0.8 * pitch)
                printed.append((row_index, box, word))
                at += (len(word) + 1) * width
    printed.sort(key=lambda word: (word[0], word[1][0]))
    lines = {row: line for line, row in enumerate(sorted({row for row, _, _ in printed}))}
    words = Words(
        [word for _, _, word in printed],
        np.array([box for _, box, _ in printed], np.float32).reshape(-1, 4),
        np.ones(len(printed), np.float32),
        np.array([lines[row] for row, _, _ in printed], np.int32),
        np.zeros(len(printed), np.int32),
    )
    width_pt = 0.45 * _WIDTH if narrow else _WIDTH
    return Page(number=1, width_pt=width_pt, height_pt=_HEIGHT, words=words, source="text", quality=1.0)
