"""Other spellings of a company's name, as other people, programs and banks write it."""

import random
import re

from docmill.training.linked_documents.companies import Company
from docmill.understanding.text.folding import without_accents

_TRANSLITERATED = str.maketrans(
    {
        "ä": "ae",
        "ö": "oe",
        "ü": "ue",
        "ß": "ss",
        "Ä": "Ae",
        "Ö": "Oe",
        "Ü": "Ue",
        "ø": "oe",
        "å": "aa",
        "æ": "ae",
        "Ø": "Oe",
        "Å": "Aa",
        "Æ": "Ae",
    }
)
_SPELT_OUT = {
    "gmbh": "Gesellschaft mit beschränkter Haftung",
    "ag": "Aktiengesellschaft",
    "kg": "Kommanditgesellschaft",
    "ltd": "Limited",
    "limited": "Ltd",
    "inc.": "Incorporated",
    "corp.": "Corporation",
    "plc": "Public Limited Company",
    "gmbh & co. kg": "GmbH und Co. KG",
    "b.v.": "BV",
    "s.r.l.": "Srl",
    "s.p.a.": "SpA",
    "e.k.": "eingetragener Kaufmann",
    "llc": "L.L.C.",
    "co.": "Company",
    "sarl": "S.A.R.L.",
    "sas": "S.A.S.",
    "ab": "Aktiebolag",
    "a/s": "Aktieselskab",
    "as": "Aksjeselskap",
    "oy": "Osakeyhtiö",
    "aps": "Anpartsselskab",
    "sa": "Société Anonyme",
}
_ABBREVIATED = {
    "maschinenbau": "Masch.-Bau",
    "elektrotechnik": "E-Technik",
    "befestigungstechnik": "Bef.-Technik",
    "engineering": "Eng.",
    "supplies": "Supp.",
    "logistics": "Log.",
    "logistik": "Log.",
    "transport": "Transp.",
    "forniture": "Forn.",
    "fournitures": "Fourn.",
    "imprimerie": "Imp.",
    "systems": "Sys.",
    "consulting": "Cons.",
}


def drop_legal_form(company: Company, random_: random.Random) -> str:
    """Without `GmbH`, `Ltd` and the like."""
    del random_
    return company.short_name


def spell_out_legal_form(company: Company, random_: random.Random) -> str:
    """The long form of the legal form, or the short one of a long."""
    del random_
    return f"{company.short_name} {_SPELT_OUT.get(company.legal_form.lower(), company.legal_form)}".strip()


def transliterate(company: Company, random_: random.Random) -> str:
    """Without umlauts: `ue` for `ü`, or `u`, as banks do."""
    name = company.name
    return name.translate(_TRANSLITERATED) if random_.random() < 0.6 else without_accents(name)


def abbreviate(company: Company, random_: random.Random) -> str:
    """Words of trade, or first names, cut short."""
    words = company.name.split()
    short = [_ABBREVIATED.get(word.lower(), word) for word in words]
    if short == words and len(words) > 2:
        short[0] = f"{words[0][0]}."
    elif short == words and len(words[0]) > 6:
        short[0] = f"{words[0][: random_.randint(4, 6)]}."
    return " ".join(short)


def capitals(company: Company, random_: random.Random) -> str:
    """All in capitals."""
    del random_
    return company.name.upper()


def truncate_27(company: Company, random_: random.Random) -> str:
    """As in a field of 27 characters of a bank's message (MT940)."""
    del random_
    return transliterated(company.name).upper()[:27].strip()


def truncate_35(company: Company, random_: random.Random) -> str:
    """As in a field of 35 characters (EDIFACT, SWIFT), often filled from name and address."""
    name = transliterated(company.name)
    return (f"{name} {company.address}" if random_.random() < 0.4 else name)[:35].strip()


def trading_name(company: Company, random_: random.Random) -> str:
    """The name on the shop sign, which banks show of card payments."""
    return company.trading_name if random_.random() < 0.6 else f"{company.trading_name} {company.short_name}"


def transliterated(text: str) -> str:
    """Without umlauts and accents, as banks write: `ue` for `ü`."""
    return without_accents(text.translate(_TRANSLITERATED))


# The other set, for measuring only: no spelling of it is made by those above.


def initials(company: Company, random_: random.Random) -> str:
    """The first letters of the words, with the legal form."""
    del random_
    letters = "".join(word[0] for word in re.findall(r"\w+", company.short_name)).upper()
    return f"{letters} {company.legal_form}".strip() if len(letters) > 2 else company.short_name


def last_word_first(company: Company, random_: random.Random) -> str:
    """As in a list sorted by name: `Durand, Imprimerie SARL`."""
    del random_
    first, _, rest = company.short_name.partition(" ")
    return f"{rest}, {first} {company.legal_form}".strip() if rest else company.name


def legal_form_first(company: Company, random_: random.Random) -> str:
    """As in French: `SARL Durand`."""
    del random_
    return f"{company.legal_form} {company.short_name}".strip()


def with_branch(company: Company, random_: random.Random) -> str:
    """With the town of the branch behind it."""
    del random_
    return f"{company.name} {company.address.rsplit(' ', 1)[-1]}"


def letters_joined(company: Company, random_: random.Random) -> str:
    """In small letters without spaces, as on web sites."""
    del random_
    return re.sub(r"[^a-z0-9]", "", without_accents(company.short_name).lower())


def cut_to_18(company: Company, random_: random.Random) -> str:
    """As on the statement of a card."""
    del random_
    return re.sub(r"[^A-Z0-9 ]", " ", without_accents(company.short_name).upper())[:18].strip()
