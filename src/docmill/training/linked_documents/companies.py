"""Invented companies, and those of real invoices, with everything that their papers print of them."""

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from faker import Faker

from docmill.schemas.types import Invoice
from docmill.training.linked_documents.identifiers import make_bic, make_iban, make_vat_id
from docmill.training.linked_documents.seeds import Part, part_of

LEGAL_FORMS: dict[str, tuple[str, ...]] = {
    "DE": ("GmbH", "GmbH", "GmbH & Co. KG", "AG", "KG", "e.K.", "UG (haftungsbeschränkt)", "OHG"),
    "AT": ("GmbH", "Gesellschaft m.b.H.", "AG", "OG"),
    "CH": ("AG", "GmbH", "SA"),
    "NL": ("B.V.", "V.O.F.", "N.V."),
    "GB": ("Ltd", "Limited", "PLC", "LLP"),
    "US": ("Inc.", "LLC", "Corp.", "Co."),
    "IT": ("S.r.l.", "S.p.A.", "S.n.c."),
    "FR": ("SARL", "SAS", "SA", "EURL"),
    "BE": ("SRL", "SA", "NV"),
    "SE": ("AB", "AB", "HB"),
    "DK": ("A/S", "ApS", "I/S"),
    "NO": ("AS", "ASA", "ANS"),
    "FI": ("Oy", "Oyj", "Ky"),
}
_TRADES: dict[str, tuple[str, ...]] = {
    "de": (
        "Bürobedarf",
        "Maschinenbau",
        "Elektrotechnik",
        "Logistik",
        "Druckerei",
        "Gebäudereinigung",
        "Befestigungstechnik",
        "Metallbau",
        "Werkzeughandel",
        "IT-Systeme",
        "Catering",
        "Schreinerei",
        "Getränkehandel",
        "Verpackungen",
        "Kältetechnik",
        "Gartenbau",
        "Spedition",
    ),
    "en": (
        "Supplies",
        "Engineering",
        "Logistics",
        "Printing",
        "Catering",
        "Tools",
        "Packaging",
        "Systems",
        "Interiors",
        "Hardware",
        "Cleaning",
        "Electrical",
        "Software",
        "Consulting",
        "Media",
        "Textiles",
    ),
    "nl": (
        "Kantoorartikelen",
        "Techniek",
        "Transport",
        "Drukkerij",
        "Schoonmaak",
        "Gereedschap",
        "Verpakkingen",
        "Installaties",
    ),
    "it": (
        "Forniture",
        "Meccanica",
        "Trasporti",
        "Tipografia",
        "Pulizie",
        "Utensili",
        "Imballaggi",
        "Impianti",
    ),
    "fr": (
        "Fournitures",
        "Mécanique",
        "Transports",
        "Imprimerie",
        "Nettoyage",
        "Outillage",
        "Emballages",
        "Électricité",
        "Menuiserie",
        "Boissons",
    ),
    "sv": (
        "Kontorsvaror",
        "Mekaniska",
        "Åkeri",
        "Tryckeri",
        "Städservice",
        "Verktyg",
        "Förpackningar",
        "Elteknik",
        "Snickeri",
        "Bygg",
    ),
    "da": (
        "Kontorartikler",
        "Maskinfabrik",
        "Transport",
        "Trykkeri",
        "Rengøring",
        "Værktøj",
        "Emballage",
        "Elteknik",
        "Tømrer",
        "Byg",
    ),
    "no": (
        "Kontorrekvisita",
        "Mekaniske",
        "Transport",
        "Trykkeri",
        "Renhold",
        "Verktøy",
        "Emballasje",
        "Elektro",
        "Snekkeri",
        "Bygg",
    ),
    "fi": (
        "Toimistotarvike",
        "Konepaja",
        "Kuljetus",
        "Painotalo",
        "Siivous",
        "Työkalut",
        "Pakkaus",
        "Sähkö",
        "Puusepät",
        "Rakennus",
    ),
}
_LANGUAGES = {
    "CH": "de",
    "AT": "de",
    "DE": "de",
    "GB": "en",
    "US": "en",
    "BE": "fr",
    "SE": "sv",
    "DK": "da",
} | {code.upper(): code for code in ("nl", "it", "fr", "no", "fi")}
_CURRENCIES = {"CH": "CHF", "GB": "GBP", "US": "USD", "SE": "SEK", "DK": "DKK", "NO": "NOK"}
_LOCALES = {
    "AT": "de_AT",
    "CH": "de_CH",
    "GB": "en_GB",
    "US": "en_US",
    "BE": "fr_BE",
    "SE": "sv_SE",
    "DK": "da_DK",
}
_SYLLABLES = (
    "nor",
    "vel",
    "tri",
    "ka",
    "lo",
    "mer",
    "so",
    "fen",
    "da",
    "qui",
    "bra",
    "zel",
    "tec",
    "um",
    "ar",
    "is",
)
_PLACEHOLDER = re.compile(r"[\[\]_]|^(test|seller|buyer|muster)\b", re.IGNORECASE)
_FORMS = sorted(
    {form for forms in LEGAL_FORMS.values() for form in forms}, key=lambda form: (-len(form), form)
)
_FORM_AT_END = re.compile(rf"[\s,]+({'|'.join(map(re.escape, _FORMS))})\.?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Company:
    """A company. name: with its legal form; short_name: without. trading_name: what is on its shop sign."""

    name: str
    short_name: str
    legal_form: str
    trading_name: str
    address: str
    country: str
    vat_id: str
    iban: str
    bic: str
    register: str
    phone: str

    @property
    def language(self) -> str:
        """The language of its papers."""
        return _LANGUAGES.get(self.country, "en")

    @property
    def currency(self) -> str:
        """The currency of its country."""
        return _CURRENCIES.get(self.country, "EUR")


def make_company(random_: random.Random, country: str, part: Part | None = None) -> Company:
    """Invent a company of a country, whose name puts it into `part`."""
    faker = _faker(country)
    faker.seed_instance(random_.getrandbits(32))
    while True:
        short_name, trading_name = _draw_name(random_, country, faker)
        name = f"{short_name} {random_.choice(LEGAL_FORMS[country])}"
        if part is None or part_of(name) == part:
            return _complete(random_, country, name, trading_name)


def _draw_name(random_: random.Random, country: str, faker: Faker) -> tuple[str, str]:
    """A name without legal form, and one for the shop sign."""
    trade = random_.choice(_TRADES[_LANGUAGES[country]])
    brand = "".join(random_.choices(_SYLLABLES, k=random_.choice((2, 2, 3)))).capitalize()
    short_name = random_.choice(
        (
            f"{faker.last_name()} {trade}",
            f"{faker.last_name()} {trade}",
            f"{trade} {faker.last_name()}",
            f"{faker.last_name()} & {faker.last_name()}",
            f"{faker.first_name()} {faker.last_name()} {trade}",
            f"{brand} {trade}",
            brand,
        )
    )
    return short_name, brand if brand in short_name or random_.random() < 0.5 else short_name.split()[0]


def near_company(company: Company, random_: random.Random) -> Company:
    """Another company whose name is nearly the same: Mayer for Meyer, Snapple for Apple."""
    words = company.short_name.split()
    place = max(range(len(words)), key=lambda index: len(words[index])) if random_.random() < 0.5 else 0
    words[place] = _near_word(words[place], random_)
    form = random_.choice((company.legal_form, *LEGAL_FORMS[company.country]))
    return _complete(random_, company.country, f"{' '.join(words)} {form}".strip(), words[place])


def _near_word(word: str, random_: random.Random) -> str:
    vowels = [index for index, character in enumerate(word) if character in "aeiouy"]
    draw = random_.random()
    if draw < 0.3 or not vowels:
        return random_.choice(("Sn", "Gr", "Bl", "Neu", "Inter")) + word.lower()
    if draw < 0.5:
        return word + random_.choice(("er", "s", "mann", "son", "ia"))
    place = random_.choice(vowels)
    others = [vowel for vowel in "aeiou" if vowel != word[place]]
    return word[:place] + random_.choice(others) + word[place + 1 :]


def company_of(invoice: Invoice, random_: random.Random) -> Company | None:
    """The seller of a real invoice, or its buyer where no seller is known; what it lacks is invented.

    None for placeholders such as `[Seller name]`.
    """
    party = invoice.seller if invoice.seller.name else invoice.buyer
    name = " ".join((party.name or "").split())
    if len(name) < 4 or _PLACEHOLDER.search(name):
        return None
    prefix = (party.vat_id or "")[:2].upper()
    country = (
        prefix if prefix in LEGAL_FORMS else {"USD": "US", "GBP": "GB"}.get(invoice.currency or "", "DE")
    )
    return _complete(random_, country, name, name.split()[0])


def _complete(random_: random.Random, country: str, name: str, trading_name: str) -> Company:
    faker = _faker(country)
    faker.seed_instance(random_.getrandbits(32))
    form = _FORM_AT_END.search(name)
    short_name = name[: form.start()] if form else name
    return Company(
        name=name,
        short_name=short_name,
        legal_form=form[1] if form else "",
        trading_name=trading_name if len(trading_name) > 3 else short_name,
        address=f"{faker.street_name()} {random_.randint(1, 180)}, {faker.postcode()} {faker.city()}",
        country=country,
        vat_id=make_vat_id(country, random_),
        iban=make_iban(country, random_),
        bic=make_bic(country, random_),
        register=f"{random_.choice(('HRB', 'Reg.', 'No.'))} {random_.randint(1000, 299999)}",
        phone=f"+{random_.randint(30, 49)} {random_.randint(20, 999)} {random_.randint(10000, 9999999)}",
    )


@cache
def _faker(country: str) -> Faker:
    faker = Faker(_LOCALES.get(country, f"{_LANGUAGES[country]}_{country}"))
    provider: Any
    for provider in faker.get_providers():
        # Italy's are made from a set, so that their order is each process's own.
        if hasattr(provider, "cities"):
            provider.cities = sorted(provider.cities)
    return faker
