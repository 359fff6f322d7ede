"""The languages that documents are read in: one file of data for each in this folder, `en.toml` and so on."""

import tomllib
from collections.abc import Mapping
from importlib import resources

from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError

from docmill.errors import MisconfiguredError
from docmill.schemas.document_types import DocumentType
from docmill.understanding.vocabulary.concepts import Column, Concept

Words = tuple[str, ...]


class _Table(BaseModel):
    """A table of a language's file, which has every key and no other."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DateWords(_Table):
    """Words of printed dates, folded.

    locales: of CLDR, whose names of months are known. months: other spellings, by their number. links:
    words between day, month and year. ordinals: endings of a day's number. until: words between the two
    dates of a period. weekdays: beginnings of their names, which may stand before a date. hours: words
    behind a time of day, beside `h`. other_times: words before a time that is not that of a sale: when
    it began or was printed, of a journey, of opening.
    """

    locales: Words
    months: Mapping[str, int]
    links: Words
    ordinals: Words
    until: Words
    weekdays: Words
    hours: Words
    other_times: Words


class AddressWords(_Table):
    """Words and forms of addresses, folded.

    streets: words of streets and other parts of an address; `-weg` is the end of a longer word.
    regions: countries and regions that end an address. houses: words before the number of a house, flat
    or plot. plots: those that begin an address without a number, too. suffixes: words behind the number
    of a house. leading: words of streets that the name follows, perhaps without a space. heads, tails:
    words before an address and behind it, on its line. postcodes: forms of the postcode before a town
    that have a mark within; `0` stands for a digit. domains: endings of web addresses. since: words
    before the year in which a firm was founded.
    """

    streets: Words
    leading: Words
    regions: Words
    houses: Words
    plots: Words
    suffixes: Words
    postcodes: Words
    domains: Words
    heads: Words
    tails: Words
    since: Words


class PartyWords(_Table):
    """Labels of those that are neither seller nor buyer, and words before a person at one of them.

    payees: whom to pay, often the seller by another address. others: agencies, carriers and the like.
    attention: before the person that a letter is for, on a line below the firm's name. writers: labels of
    whoever wrote the paper, be it seller or buyer. departments: parts of a firm, no name. your_accounts:
    words for an account of the reader. senders, receivers: of goods or letters, mostly seller and buyer.
    legal: legal forms that count at the end of a name only, since they are common words, too. banks: words
    of banks' names; `-bank` is the end of a longer word.
    """

    payees: Words
    others: Words
    attention: Words
    your_accounts: Words
    senders: Words
    receivers: Words
    writers: Words
    departments: Words
    legal: Words
    banks: Words


class DocumentWords(_Table):
    """Names of documents that stand beside their numbers, as `invoice` in `invoice 4711`, by kind of number.

    Numbers of different kinds are not compared.
    """

    invoice: Words
    order: Words
    delivery: Words
    contract: Words
    receipt: Words
    quote: Words
    credit: Words
    statement: Words


class PageWords(_Table):
    """Words by which the pages of a file are sorted into documents, as printed, in lower case with accents.

    They are read by `docmill.sections`. page, of: as in "page 2 of 3". of_alone: those of `of` that also
    stand without the word for page, as in "2 of 3". numbers: words for `number`. sums: words in lines with
    the amount of a bill; `*` stands for the rest of a word. heads: words in the
    letterheads of many papers, which do not tell senders apart. names: words with a capital on many pages
    that are no names. common: the most frequent words of this language, by which the language of a page is
    recognised.
    """

    page: Words
    of: Words
    of_alone: Words
    numbers: Words
    sums: Words
    heads: Words
    names: Words
    common: Words
    documents: DocumentWords


class BookingWords(_Table):
    """Words of the bookings on a bank statement.

    kinds: names of kinds of bookings. debit, credit: marks beside an amount that went or came.
    reference: labels of a booking's reference.
    """

    kinds: Words
    debit: Words
    credit: Words
    reference: Words


class FieldWords(_Table):
    """Words in the names and labels of the fields of users' own schemas, folded.

    stop: words without a meaning of their own. yes, no: values of a field that is true or false.
    special: words that name the form of a value. synonyms: words by the group they belong to, named in
    English. terms: phrases of business papers, among them labels, by what they mean, named in English.
    """

    stop: Words
    yes: Words
    no: Words
    special: Mapping[str, str]
    synonyms: Mapping[str, Words]
    terms: Mapping[str, Words]


class Terms(_Table):
    """Words that say when to pay. Stems, but for days, month_end, settled and until.

    days: words for days. net: words before a number of days that say that they are days to pay.
    between: words between two terms. payment: words of paying. other: words of discounts, arrears and
    other terms than those of payment. discount: those of `other` that speak of discounts. month_end:
    that the end of the month is meant. settled: that nothing is left to pay. until: what stands before
    the last day.
    """

    days: Words
    net: Words
    between: Words
    payment: Words
    other: Words
    discount: Words
    month_end: Words
    settled: Words
    until: Words


class PaymentWords(_Table):
    """Whole phrases that introduce the terms and the means of payment.

    terms: labels of the terms of payment. method: labels of the means of payment. generic: labels that
    are words of sentences, too. offered: headings of means to choose from, and of more than terms of
    payment. paid: what stands right before the means that was used. collected: that the seller takes
    the money. conditional: words of sentences that say what may be or is not. transfer: that the buyer
    is asked for a bank transfer. immediate: terms of payment without a number of days that are clear
    beside a word of paying. clauses: others, clear behind a label only.
    """

    terms: Words
    method: Words
    generic: Words
    offered: Words
    paid: Words
    collected: Words
    conditional: Words
    transfer: Words
    immediate: Words
    clauses: Words


class TaxWords(_Table):
    """Phrases that say why a bill has no VAT.

    categories: by the code of the VAT category in UNTDID 5305 (BT-118 of EN 16931). conditional: words of
    sentences that say when it would be so.
    """

    conditional: Words
    categories: Mapping[str, Words]


class Language(_Table):
    """The words of one language and its habits of writing.

    code: ISO 639-1. name: in English. decimal_comma: numbers have a comma before the decimals. accents:
    it is written with accents. compounds: words are written together, so that a title may be the end of
    a longer word. vat: the country whose prefix is left out of VAT identifiers in this language; empty
    if none. common: short words that are frequent in any text of the language. small: labels that are
    prepositions and articles elsewhere: in a sentence they must stand right before a value. numbers:
    words for `number`. glued: short ones that may be written together with a label. heads: words of
    labels that end longer ones, which mean the same. other_heads: ends of words that mean something
    else. names: what stands before a party's name in a form. salutations: lines before a name that are
    not of it. greetings: words before a shop's name that are not of it. owners: words behind which a
    shop's name follows on its line. confirmation: stems that say that an order was confirmed by the
    seller. self_billed: stems that say that the buyer wrote an invoice. joining: words at the end of a
    line whose name goes on below. carried: what a row is called that brings a sum from one page to the
    next. legal: legal forms. firms: words of firms' names.
    units: units of measure behind a number. measured: words before a unit in a heading. dollars: the
    code of the dollar that a word on the page says is meant. currencies: the code of a currency by the
    sign it is printed as, beside those known everywhere. methods: names of means of payment by their
    code in UNTDID 4461 (BT-81 of EN 16931). labels: phrases per concept; case, accents and punctuation
    do not matter, and `#` stands for any word or sign for `number`. columns: the same for the headings
    of tables. titles: phrases that speak for a document type, with their weight. others: the same for
    papers that are of none of our types.
    """

    code: str
    name: str
    decimal_comma: StrictBool
    accents: StrictBool
    compounds: StrictBool
    vat: str
    common: Words
    small: Words
    numbers: Words
    glued: Words
    heads: Words
    other_heads: Words
    names: Words
    salutations: Words
    greetings: Words
    owners: Words
    confirmation: Words
    self_billed: Words
    joining: Words
    carried: Words
    legal: Words
    firms: Words
    units: Words
    measured: Words
    dollars: Mapping[str, str]
    currencies: Mapping[str, str]
    taxes: TaxWords
    dates: DateWords
    address: AddressWords
    parties: PartyWords
    pages: PageWords
    bookings: BookingWords
    fields: FieldWords
    terms: Terms
    payment: PaymentWords
    methods: Mapping[str, Words]
    labels: Mapping[Concept, Words]
    columns: Mapping[Column, Words]
    titles: Mapping[DocumentType, Mapping[str, float]]
    others: Mapping[str, float]


def parse_language(text: str, file: str) -> Language:
    """The language that a file of the vocabulary describes.

    Raises MisconfiguredError, naming file and key, for a key that is missing, unknown or of the wrong
    kind.
    """
    try:
        return Language.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise MisconfiguredError(f"{file}: {error}") from error
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
        raise MisconfiguredError(f"{file}: {'; '.join(problems)}") from error


LANGUAGES: tuple[Language, ...] = tuple(
    parse_language(file.read_text(encoding="utf-8"), file.name)
    for file in sorted(
        resources.files(__package__ or "").iterdir(), key=lambda file: (file.name != "en.toml", file.name)
    )
    if file.name.endswith(".toml")
)
"""Of every file of the folder; English first, whose words are the most common on papers of all countries."""
CODES = tuple(language.code for language in LANGUAGES)
NUMBER_WORDS = frozenset(("#", *(word for language in LANGUAGES for word in language.numbers)))
"""Every word that `#` in a phrase stands for."""
