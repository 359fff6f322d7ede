"""Features of the lines of letterheads and address blocks, and the test for what can be a name."""

import re
from dataclasses import dataclass
from functools import lru_cache

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Segment
from docmill.understanding.page.titles import is_title
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import alternatives, fold, remembered, token_texts
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.text.money import find_amounts
from docmill.understanding.text.number_forms import is_post_box
from docmill.understanding.vocabulary import LANGUAGES, Concept

_ADDRESSES = [language.address for language in LANGUAGES]
_BANKS = [word for language in LANGUAGES for word in language.parties.banks]
_STREETS = [word for words in _ADDRESSES for word in words.streets]
STREET_WORDS = frozenset(word for word in _STREETS if not word.startswith("-") and " " not in word)
STREET_ENDS = tuple(word[1:] for word in _STREETS if word.startswith("-"))
STREET_PHRASES = tuple(word for word in _STREETS if " " in word)
REGIONS = frozenset(region for words in _ADDRESSES for region in words.regions)
_BANK_PHRASES = [token_texts(phrase.lstrip("-")) for phrase in _BANKS if not phrase.startswith("-")]
_BANK_ENDS = tuple(fold(word[1:]) for word in _BANKS if word.startswith("-"))
FIRM_WORDS = frozenset(word for language in LANGUAGES for word in language.firms)
_COMMON = frozenset(word for language in LANGUAGES for word in language.common)
_REGIONS = frozenset(tuple(region.split()) for region in REGIONS)
_LONGEST_REGION = max(map(len, _REGIONS))
_SHORTEST_STREET_END = 6
_STREET = 1.1
_HOUSE_SCORE = 0.9

_MARKED = alternatives(form for words in _ADDRESSES for form in words.postcodes).replace("0", r"\d")
POSTCODE = re.compile(
    rf"(?<![\w\-/.])(?:{_MARKED})[,\s]\s?[^\W\d_]{{2}}"
    r"|(?<![\w\-/.])(?:[a-z]{1,2}[\-\s])?\d{4,6}(?:\s?[a-z]{2})?[,\s]\s?[^\W\d_]{2}"  # D-10115 Berlin
    r"|(?<![\w])[a-z]{1,2}\d[a-z\d]?\s?\d[a-z]{2}(?!\w)"  # SW1A 1AA
    r"|[a-z]{2}\.?,?\s+\d{5}(?:-\d{4})?(?!\d)"  # NY 10001
    r"|[^\W\d_]{3},?\s+(?:\d{4}|\d{6})$"  # Sydney 2000
    r"|(?<![\w\-/.])\d{5}(?=[^\W\d_]{3})"  # 81100JOHOR
    r"|^\d{5}$"
)
_FOREIGN_POSTCODE = re.compile(
    r"(?<!\w)[a-z]\d[a-z]\s?\d[a-z]\d(?!\w)"  # K1A 0B1
    r"|(?<!\w)[a-z]\d[\dw]\s[a-z\d]{4}$"  # D02 X285
    r"|[^\W\d_]{3}\s?[-\u2013]\s?\d{6}$"  # Mumbai - 400001
)
_SINCE = alternatives(word for words in _ADDRESSES for word in words.since)
_FOUNDED = re.compile(rf"(?<!\w)(?:{_SINCE})\.?\s(?:18|19|20)\d\d(?!\d)")
_YEAR = re.compile(r"\b(?:18|19|20)\d\d\W*$")
_HOUSES = alternatives(word for words in _ADDRESSES for word in words.houses)
_PLOTS = alternatives(word for words in _ADDRESSES for word in words.plots)
HOUSE = re.compile(
    rf"^\W*(?:{_HOUSES})?\b[.:\s]*[a-z]?-?\d{{1,5}}[a-z]?(?:\s?[-/&,.]|\s)"
    rf"|^\W*(?:{_HOUSES})\b[.:,\s]*[a-z]?-?\d|^\W*(?:{_PLOTS})\b"
    r"|[^\W\d_]{3}\.?\s\d{1,4}\s?[a-z]?(?:\s?[-/]\s?\d{1,4})?$"  # Hauptstr. 12a
)
PHONE = re.compile(r"(?<![\w.])(?:\+\d{1,3}[\s(\-]*|\(?0)\d{1,4}[)\s\-./]*\d{3,4}[\s\-.]?\d{3,4}(?!\d)")
_DOMAINS = alternatives(domain for words in _ADDRESSES for domain in words.domains)
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
_NOT_NAMED = NOT_LETTERHEAD | {
    Concept.BANK, Concept.SELLER, Concept.BUYER, Concept.SHIP_TO, Concept.SHIP_FROM, Concept.ADDRESS,
}  # fmt: skip
_MOST_OF_IT = 0.75
_INITIALS = 4
_SENTENCE_WORDS = 4
_HOUSE_NUMBER = re.compile(r"\d{1,5}[a-z]?")
_SUFFIXES = alternatives(word for words in _ADDRESSES for word in words.suffixes)
_HOUSE_FIRST = re.compile(rf"^\W*\d{{1,5}}\s?[a-z]?(?:\s?(?:{_SUFFIXES}))?[\s,]+(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class LineFeatures:
    """Features of one segment by which names and addresses are recognised.

    address_score: weighted sum of the street words and the house number. legal_form_end: the index at which
    its legal form ends, such as `GmbH`; 0 without one. has_firm_word: it has a word of many business names,
    such as `Hotel`. has_contact: it has a telephone number, a mail address or a web address. label_share: the
    fraction of its characters in labels of other fields, such as `Invoice date`. has_value: it has a date or
    an amount.
    """

    segment: Segment
    address_score: float
    has_postcode: bool
    has_region: bool
    legal_form_end: int
    has_firm_word: bool
    has_contact: bool
    label_share: float
    is_registration_number: bool
    has_value: bool
    letter_count: int

    @property
    def ends_address(self) -> bool:
        """True if it has a postcode and a town. `4120 Main Street` looks like it but has neither."""
        house_number = re.match(r"\W*\d+\s", self.segment.text) is not None and self.address_score >= _STREET
        return self.has_postcode and not house_number

    @property
    def is_street(self) -> bool:
        """True if it has a word of streets and the number of a house."""
        return self.address_score >= _STREET + _HOUSE_SCORE

    @property
    def may_be_name(self) -> bool:
        """True if it may be the name of a person or business."""
        if self.legal_form_end and not self.has_value:
            return True
        return (
            self.letter_count >= 3  # noqa: PLR2004 - fewer are initials or noise
            and self.letter_count > 0.5 * len(self.segment.text.replace(" ", ""))
            and not (self.has_contact or self.is_registration_number or self.has_value)
        )


@once
def line_features(candidates: Candidates, segment: Segment) -> LineFeatures:
    """The features of a segment."""
    text = segment.text
    folded = fold(text)
    words = token_texts(text)
    has_digit = any(map(str.isdecimal, text))
    streets = sum(phrase in folded for phrase in STREET_PHRASES) + sum(
        (word in STREET_WORDS and (has_digit or len(word) > 1))
        or (len(word) >= _SHORTEST_STREET_END and word.endswith(STREET_ENDS))
        for word in words
    )
    # `Quality since 1978` is no house.
    has_house = HOUSE.search(folded) is not None and (streets > 0 or _YEAR.search(folded) is None)
    runs = (
        words[start : start + length]
        for length in range(1, _LONGEST_REGION + 1)
        for start in range(len(words) - length + 1)
    )
    labels = [label for label in candidates.labels(segment) if NOT_LETTERHEAD.intersection(label.meanings)]
    amounts = find_amounts(text, misread=False)
    return LineFeatures(
        segment=segment,
        address_score=_STREET * min(streets, 2) + _HOUSE_SCORE * has_house,
        has_postcode=has_postcode(text),
        has_region=not _REGIONS.isdisjoint(runs),
        legal_form_end=legal_form_end(text),
        has_firm_word=not FIRM_WORDS.isdisjoint(words),
        has_contact=PHONE.search(folded) is not None or NET.search(folded) is not None,
        # A word that only looks like one of a label, as names do, counts half.
        label_share=sum((label.stop - label.start) * (1 if label.quality == 1 else 0.5) for label in labels)
        / max(1, len(text)),
        is_registration_number=REGISTRATION.match(folded) is not None,
        has_value=bool(find_dates(text)) or any(amount.has_cents or amount.currency for amount in amounts),
        letter_count=sum(map(str.isalpha, text)),
    )


@remembered
def has_postcode(text: str) -> bool:
    """True if the text contains a postcode, which the number of a post box or `Since 1931` is not."""
    if is_post_box(text):
        return False
    folded = _FOUNDED.sub(" ", fold(text))
    return POSTCODE.search(folded) is not None or _FOREIGN_POSTCODE.search(folded) is not None


def is_name(text: str) -> bool:
    """True if the text may be the name of a person or business; a legal form is enough.

    False for streets, labels, sentences, document titles and text that closes a bracket it did not open.
    """
    if legal_form_end(text):
        return True
    words = token_texts(text)
    is_fragment = text.count(")") > text.count("(") and text.rstrip(" .,;:").endswith(")")
    if not words or is_fragment or _is_street(fold(text), words) or _is_label(text) or is_title(text):
        return False
    if len(words) < _SENTENCE_WORDS or FIRM_WORDS.intersection(words) or text.islower() or text.isupper():
        return True
    # A sentence has common words, and what they join is not written as names are.
    joined = [word for word in re.findall(r"[^\W\d_]{2,}", text) if fold(word) not in _COMMON]
    small = sum(word[0].islower() for word in joined)
    return _COMMON.isdisjoint(words) or 2 * small <= len(joined)


@lru_cache(maxsize=4096)
def is_bank(text: str) -> bool:
    """True if the text has a word of banks' names."""
    words = token_texts(text)
    return any(word.endswith(_BANK_ENDS) for word in words) or any(
        words[start : start + len(phrase)] == phrase
        for phrase in _BANK_PHRASES
        for start in range(len(words) - len(phrase) + 1)
    )


def has_common_words(text: str) -> bool:
    """True if the text has words that are common in sentences, and no word of businesses."""
    words = token_texts(text)
    return not _COMMON.isdisjoint(words) and FIRM_WORDS.isdisjoint(words)


def _is_street(folded: str, words: tuple[str, ...]) -> bool:
    """True for a street word with a house number: `1 rue de la Banque`, `Hauptstr. 12`."""
    streets = [word in STREET_WORDS or word.endswith(STREET_ENDS) for word in words]
    if _HOUSE_FIRST.match(folded) is not None and any(streets[1:]):
        return True
    numbers = [_HOUSE_NUMBER.fullmatch(word) is not None for word in words]
    return any(number and street for number, street in zip(numbers, streets[1:], strict=False)) or (
        len(words) > 1 and numbers[-1] and streets[-2]
    )


def _is_label(text: str) -> bool:
    """True if labels of other fields make up most of it, or it names a register: `Reg. Merc. de Madrid`."""
    labels = [label for label in LABELS.find(text) if _NOT_NAMED.intersection(label.meanings)]
    if labels and Concept.REGISTRATION_NUMBER in labels[0].meanings and labels[0].start <= 1:
        first = text[labels[0].start : labels[0].stop]
        if " " in first and len(first) > _INITIALS:
            return True
    return sum(label.stop - label.start for label in labels) > _MOST_OF_IT * len(text.strip())
