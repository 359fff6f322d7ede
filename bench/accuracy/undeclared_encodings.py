"""Text that does not say its encoding: how often docmill reads it right, and charset-normalizer and chardet.

Text of 39 languages from public sources is cut into pieces and written in the encodings that people used; a
piece is right without one wrong character. chardet is what docmill asks; charset-normalizer comes with
requests, which the development environment has.
"""

import datetime as dt
import gettext
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import chardet
from babel import Locale
from babel.core import get_global
from babel.dates import format_date
from babel.numbers import format_currency, get_territory_currencies
from charset_normalizer import CharsetMatches, from_bytes

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.reading.text import encodings

UDHR = DATA / "office" / "language-docs" / "UDHR_first_article_all.txt"
MESSAGES = Path("/usr/share/locale")
"""The folder in which Linux keeps the translations of its programs' messages."""


WESTERN = "cp1252 mac_roman cp850"
CENTRAL = "cp1250 iso8859_2 cp852"
CYRILLIC = "cp1251 koi8_r iso8859_5 cp866"
OTHERS = ("iso8859_15", "iso8859_7", "iso8859_13", "cp1258", "koi8_u", "cp737", "cp857", "mac_cyrillic")
"""Encodings that ours does not know by name; text of most of them is read right under another one."""
LANGUAGES: Mapping[str, tuple[str, str]] = {
    "en": ("English", "cp1252 mac_roman"),
    "de": ("German, Standard (1996)", f"{WESTERN} iso8859_15"),
    "fr": ("French", f"{WESTERN} iso8859_15"),
    "es": ("Spanish", WESTERN),
    "pt": ("Portuguese (Portugal)", WESTERN),
    "it": ("Italian", WESTERN),
    "nl": ("Dutch", WESTERN),
    "sv": ("Swedish", WESTERN),
    "da": ("Danish", WESTERN),
    "nb": ("Norwegian, Bokmål", WESTERN),
    "fi": ("Finnish", f"{WESTERN} iso8859_15"),
    "is": ("Icelandic", "cp1252 cp850"),
    "ca": ("Catalan-Valencian-Balear", WESTERN),
    "pl": ("Polish", CENTRAL),
    "cs": ("Czech", CENTRAL),
    "sk": ("Slovak", CENTRAL),
    "hu": ("Hungarian", CENTRAL),
    "sl": ("Slovenian", CENTRAL),
    "hr": ("Croatian", CENTRAL),
    "ro": ("Romanian (2006)", CENTRAL),
    "ru": ("Russian", f"{CYRILLIC} mac_cyrillic"),
    "uk": ("Ukrainian", "cp1251 koi8_u"),
    "bg": ("Bulgarian", "cp1251 iso8859_5 cp866"),
    "be": ("Belarusan", "cp1251"),
    "sr": ("Serbian (Cyrillic)", "cp1251 iso8859_5"),
    "mk": ("Macedonian", "cp1251 iso8859_5"),
    "el": ("Greek (monotonic)", "cp1253 iso8859_7 cp737"),
    "tr": ("Turkish", "cp1254 cp857"),
    "he": ("Hebrew", "cp1255 cp862"),
    "ar": ("Arabic, Standard", "cp1256"),
    "lt": ("Lithuanian", "cp1257 iso8859_13"),
    "lv": ("Latvian", "cp1257 iso8859_13"),
    "et": ("Estonian", "cp1257 cp1252"),
    "th": ("Thai", "cp874"),
    "ja": ("Japanese", "cp932 euc_jp"),
    "ko": ("Korean", "cp949"),
    "zh_CN": ("Chinese, Mandarin (Simplified)", "gb18030"),
    "zh_TW": ("Chinese, Mandarin (Traditional)", "big5hkscs"),
    "vi": ("Vietnamese", "cp1258"),
}
"""Language: its heading in the Universal Declaration, and the encodings in which people wrote it."""
FOLDED = str.maketrans("șțȘȚ’‘“”„–—…\u00a0", 'şţŞŢ\'\'"""--. ')
"""Characters that older encodings lack, with the substitutes people wrote instead."""
SEED = 7
SIZES = (8, 20, 60, 400)
SAMPLES = 12
"""Samples of each size, language and encoding from each source."""


class Sample(NamedTuple):
    """A text, how long it is meant to be, and what it was written in."""

    text: str
    size: int
    language: str
    encoding: str

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)


def declaration(language: str) -> list[str]:
    """The first article of the Universal Declaration of Human Rights."""
    if not UDHR.exists():
        return []
    lines = UDHR.read_text("utf-8").splitlines()
    heading = LANGUAGES[language][0]
    return [lines[lines.index(heading) + 1]] if heading in lines else []


def names(language: str) -> list[str]:
    """Names of countries, currencies and months, as forms and tables hold them (Unicode CLDR)."""
    locale: Any = Locale.parse(language)
    found = [
        *locale.territories.values(),
        *locale.currencies.values(),
        *locale.months["format"]["wide"].values(),
    ]
    random.Random(SEED).shuffle(found)
    return ["; ".join(found[at : at + 4]) for at in range(0, len(found), 4)]


def messages(language: str) -> list[str]:
    """The messages of this machine's programs in the language."""
    found: set[str] = set()
    folder = "en_GB" if language == "en" else language
    for path in sorted((MESSAGES / folder / "LC_MESSAGES").glob("*.mo")):
        with path.open("rb") as file:
            try:
                catalog: dict[Any, str] = vars(gettext.GNUTranslations(file))["_catalog"]
            except (OSError, ValueError):
                continue
        found.update(" ".join(text.split()) for key, text in catalog.items() if key)
    kept = sorted(text for text in found if not re.search(r"[%<{_\\]|--", text) and len(text) > 8)
    random.Random(SEED).shuffle(kept)
    return kept


def prices(language: str) -> list[str]:
    """Lines as lists of prices and accounts have them: a name, a day, an amount in the language's form."""
    locale: Any = Locale.parse(language)
    country = get_global("likely_subtags").get(language, language).rpartition("_")[2]
    drawn = random.Random(SEED)
    places = sorted(locale.territories.values())
    lines: list[str] = []
    for _ in range(200):
        day = dt.date(2020, 1, 1) + dt.timedelta(drawn.randrange(2000))
        amount = Decimal(drawn.randrange(100, 500_000)) / 100
        currency = drawn.choice(["EUR", "EUR", *get_territory_currencies(country)])
        lines.append(
            f"{drawn.choice(places)}; {format_date(day, 'long', locale)}; "
            f"{format_currency(amount, currency, locale=locale)}"
        )
    return lines


def tongues(language: str) -> list[str]:
    """Names of languages and scripts (Unicode CLDR). Looked at when all was decided."""
    locale: Any = Locale.parse(language)
    found: list[str] = [*locale.languages.values(), *locale.scripts.values()]
    random.Random(SEED).shuffle(found)
    return [", ".join(found[at : at + 5]) for at in range(0, len(found), 5)]


SOURCES: Mapping[str, Callable[[str], list[str]]] = {
    "Universal Declaration": declaration,
    "names (CLDR)": names,
    "programs' messages": messages,
    "lists of prices (CLDR)": prices,
    "held out: languages (CLDR)": tongues,
}


def samples(lines: Iterable[str], language: str, encoding: str) -> Iterator[Sample]:
    """Pieces of the lines that the encoding can write and that are not all ASCII."""
    written = [line for line in map(_folded, lines, [encoding] * 10**6) if line]
    for size in SIZES:
        count = 0
        for piece in _pieces(written, size):
            if not piece.isascii():
                yield Sample(piece, size, language, encoding)
                count += 1
            if count == SAMPLES:
                break


def _folded(line: str, encoding: str) -> str:
    for text in (line, line.translate(FOLDED)):
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            continue
        return text
    return ""


def _pieces(lines: list[str], size: int) -> Iterator[str]:
    """Whole words of about `size` characters, lines put together where one is too short."""
    piece: list[str] = []
    for word in (word for line in lines for word in [*line.split(), "\n"]):
        piece.append(word)
        text = " ".join(piece).strip()
        if len(text) >= size:
            yield text[: size + 10].strip()
            piece = []
    if piece and len(" ".join(piece)) > size // 2:
        yield " ".join(piece).strip()


def guessers() -> dict[str, Callable[[bytes], str]]:
    """By name: what gives the name of a codec for bytes that are not UTF-8."""
    known = list(encodings.CANDIDATES)
    return {
        "docmill": encodings.guess,
        "chardet alone, docmill's candidates": lambda data: (
            chardet.detect(data, include_encodings=known)["encoding"] or ""
        ),
        "charset-normalizer, docmill's candidates": lambda data: best(from_bytes(data, cp_isolation=known)),
        "charset-normalizer, all": lambda data: best(from_bytes(data)),
    }


def best(matches: CharsetMatches) -> str:
    found = matches.best()
    return "cp1252" if found is None else found.encoding


def _read(data: bytes, encoding: str | None) -> str:
    try:
        return data.decode(encoding or "cp1252", "replace")
    except LookupError:
        return ""


def score_charsets() -> None:
    """Print the share of samples that each guesser reads without one wrong character."""
    made = {
        source: [
            sample
            for language, (_, encodings) in LANGUAGES.items()
            for encoding in encodings.split()
            for sample in samples(lines(language), language, encoding)
        ]
        for source, lines in SOURCES.items()
    }
    for name, guess in guessers().items():
        start = time.process_time()
        right = {
            source: [(_read(sample.data, guess(sample.data)) == sample.text, sample) for sample in found]
            for source, found in made.items()
        }
        count = sum(map(len, made.values()))
        print(f"\n{name}: {(time.process_time() - start) / count * 1000:.2f} ms a sample")
        for source, results in right.items():
            print(f"  {source}: {_share(results)}; " + _by(results, lambda sample: sample.size))
        every = [result for results in right.values() for result in results]
        print(f"  all: {_share(every)}")
        print("  by encoding: " + _by(every, lambda sample: sample.encoding))
        print("  by language: " + _by(every, lambda sample: sample.language))


Results = list[tuple[bool, Sample]]


def _share(results: Results) -> str:
    return f"{sum(right for right, _ in results) / max(len(results), 1):.3f} of {len(results)}"


def _by(results: Results, key: Callable[[Sample], object]) -> str:
    groups: dict[object, Results] = defaultdict(list)
    for right, sample in results:
        groups[key(sample)].append((right, sample))
    return ", ".join(
        f"{group} {sum(right for right, _ in found) / len(found):.2f}" for group, found in groups.items()
    )


def main() -> None:
    argument_parser(__doc__).parse_args()
    score_charsets()


if __name__ == "__main__":
    main()
