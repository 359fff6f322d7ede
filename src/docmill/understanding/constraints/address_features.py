"""What a line of a letterhead or address block looks like: a name, an address, a contact, something else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold, tokens
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import LANGUAGES, Concept

LEGAL_FORMS = sorted(
    {tuple(token.text for token in tokens(form)) for language in LANGUAGES for form in language.legal},
    key=len,
    reverse=True,
)
_FORMS_BY_WORD = {
    first: [form for form in LEGAL_FORMS if form[0] == first] for first in {form[0] for form in LEGAL_FORMS}
}
"""By their first word, the longest first."""
FIRM_WORDS = frozenset(word for language in LANGUAGES for word in language.firms)
STREET_WORDS = frozenset(
    word
    for language in LANGUAGES
    for word in language.address.streets
    if not word.startswith("-") and " " not in word
)
STREET_ENDS = tuple(
    word[1:] for language in LANGUAGES for word in language.address.streets if word.startswith("-")
)
STREET_PHRASES = tuple(word for language in LANGUAGES for word in language.address.streets if " " in word)
REGIONS = frozenset(region for language in LANGUAGES for region in language.address.regions)
_REGIONS = frozenset(tuple(region.split()) for region in REGIONS)
_LONGEST_REGION = max(map(len, _REGIONS))
_SHORTEST_STREET_END = 6
_STREET = 1.1

_ADDRESSES = [language.address for language in LANGUAGES]
_MARKED = "|".join(re.escape(form).replace("0", r"\d") for words in _ADDRESSES for form in words.postcodes)
POSTCODE = re.compile(
    rf"(?<![\w\-/.])(?:{_MARKED or '(?!)'})[,\s]\s?[^\W\d_]{{2}}"
    r"|(?<![\w\-/.])(?:[a-z]{1,2}[\-\s])?\d{4,6}(?:\s?[a-z]{2})?[,\s]\s?[^\W\d_]{2}"  # D-10115 Berlin
    r"|(?<![\w])[a-z]{1,2}\d[a-z\d]?\s?\d[a-z]{2}(?!\w)"  # SW1A 1AA
    r"|[a-z]{2}\.?,?\s+\d{5}(?:-\d{4})?(?!\d)"  # NY 10001
    r"|[^\W\d_]{3},?\s+(?:\d{4}|\d{6})$"  # Sydney 2000
    r"|(?<![\w\-/.])\d{5}(?=[^\W\d_]{3})"  # 81100JOHOR
    r"|^\d{5}$"
)
_HOUSES = "|".join(re.escape(word) for words in _ADDRESSES for word in words.houses)
HOUSE = re.compile(
    rf"^\W*(?:{_HOUSES})?\b[.:\s]*[a-z]?-?\d{{1,5}}[a-z]?(?:\s?[-/&,.]|\s)"
    rf"|^\W*(?:{_HOUSES})\b[.:,\s]*[a-z]?-?\d|^\W*lot\b"
    r"|[^\W\d_]{3}\.?\s\d{1,4}\s?[a-z]?(?:\s?[-/]\s?\d{1,4})?$"  # Hauptstr. 12a
)
PHONE = re.compile(r"(?<![\w.])(?:\+\d{1,3}[\s(\-]*|\(?0)\d{1,4}[)\s\-./]*\d{3,4}[\s\-.]?\d{3,4}(?!\d)")
_DOMAINS = "|".join(domain for words in _ADDRESSES for domain in words.domains)
NET = re.compile(rf"@|www|https?:|\.(?:{_DOMAINS}|eu)\b")
REGISTRATION = re.compile(
    r"^\W*(?:\d{5,7}\s?-?\s?[a-z]|(?:19|20)\d{10}|[a-z]{0,3}\d{7,12}-?[a-z]?)\W*(?:\(.*)?$"
)
NOT_LETTERHEAD = frozenset(
    {
        Concept.PHONE, Concept.TAX_NUMBER, Concept.VAT_NUMBER, Concept.REGISTRATION_NUMBER, Concept.DATE,
        Concept.INVOICE_DATE, Concept.INVOICE_NUMBER, Concept.RECEIPT_NUMBER, Concept.DOCUMENT_NUMBER,
        Concept.TIME, Concept.TOTAL, Concept.CONTACT, Concept.COURTESY, Concept.OTHER_NUMBER, Concept.IBAN,
        Concept.BIC, Concept.QUANTITY, Concept.CUSTOMER_NUMBER, Concept.PRICE, Concept.PAID, Concept.TAX,
        Concept.ORDER_NUMBER, Concept.DUE_DATE, Concept.AMOUNT, Concept.DELIVERY_NOTE_NUMBER,
        Concept.PURCHASE_ORDER_NUMBER, Concept.CONTRACT_NUMBER, Concept.ACCOUNT,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lettering:
    """One segment's looks. address: how many signs of an address it shows, weighed.

    legal: where a legal form ends, 0 if there is none. label: share of it that labels of other things take.
    """

    segment: Segment
    address: float
    postcode: bool
    region: bool
    legal: int
    firm: bool
    contact: bool
    label: float
    registration: bool
    value: bool
    letters: int

    @property
    def ends_address(self) -> bool:
        """A postcode and town; `4120 Main Street` is not, though it looks like one."""
        house_number = re.match(r"\W*\d+\s", self.segment.text) is not None and self.address >= _STREET
        return self.postcode and not house_number

    @property
    def name_like(self) -> bool:
        """It could be the name of somebody."""
        if self.legal and not self.value:
            return True
        return (
            self.letters >= 3  # noqa: PLR2004 - fewer are initials or noise
            and self.letters > 0.5 * len(self.segment.text.replace(" ", ""))
            and not (self.contact or self.registration or self.value)
        )


def lettering(candidates: Candidates, segment: Segment) -> Lettering:
    """What `segment` looks like."""
    text = segment.text
    folded = fold(text)
    words = [token.text for token in tokens(text)]
    labels = [label for label in candidates.labels(segment) if NOT_LETTERHEAD.intersection(label.meanings)]
    covered = sum(label.stop - label.start for label in labels)
    dates = find_dates(text)
    amounts = [one for one in find_amounts(text, misread=False) if one.has_cents or one.currency]
    return Lettering(
        segment=segment,
        address=_address_signs(folded, words),
        postcode=has_postcode(text),
        region=_names_region(words),
        legal=legal_form_end(text),
        firm=not FIRM_WORDS.isdisjoint(words),
        contact=PHONE.search(folded) is not None or NET.search(folded) is not None,
        label=covered / max(1, len(text)),
        registration=REGISTRATION.match(folded) is not None,
        value=bool(dates or amounts),
        letters=sum(map(str.isalpha, text)),
    )


def has_postcode(text: str) -> bool:
    """Whether something in it has the form of a postcode."""
    return POSTCODE.search(fold(text)) is not None


def _names_region(words: Sequence[str]) -> bool:
    return any(
        tuple(words[start : start + length]) in _REGIONS
        for length in range(1, _LONGEST_REGION + 1)
        for start in range(len(words) - length + 1)
    )


def _address_signs(folded: str, words: Sequence[str]) -> float:
    streets = sum(
        word in STREET_WORDS or (len(word) >= _SHORTEST_STREET_END and word.endswith(STREET_ENDS))
        for word in words
    )
    streets += sum(phrase in folded for phrase in STREET_PHRASES)
    house = HOUSE.search(folded) is not None
    return _STREET * min(streets, 2) + 0.9 * house


@lru_cache(maxsize=4096)
def legal_form_end(text: str) -> int:
    """Where the last legal form in `text` ends; 0 if there is none. Not at the very beginning."""
    found = tokens(text)
    words = [token.text for token in found]
    for start in range(len(words) - 1, 0, -1):
        for form in _FORMS_BY_WORD.get(words[start], ()):
            stop = start + len(form)
            if tuple(words[start:stop]) == form and _written_as_form(text, found[start].start, form):
                end = found[stop - 1].stop
                return end + text[end:].startswith(".")
    return 0


def _written_as_form(text: str, at: int, form: tuple[str, ...]) -> bool:
    """Two-letter forms such as SA or AG are written in capitals; `co` and `ek` in prose are not forms."""
    return len("".join(form)) > 3 or text[at : at + 1].isupper()  # noqa: PLR2004 - as the first line says
