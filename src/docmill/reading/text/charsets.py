"""Which encoding a text is in that does not say so: the one in which it looks most like text."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

MAX_BYTES = 4096
"""So many bytes are tried, taken from lines that are not all ASCII."""
WESTERN = "äöüßéèàáíóúñçê âåøæãîôëÄÖÜÉÅØÀÇÑÓÁÍÚ õûïœÿìòùýªºÈÂÊÆÃÕÎÔÛËÏŒÌÒÙ¿¡ð"
CENTRAL = "ąćęłńśźżčěřšůžőűáéíóúöüäßç ĄĆĘŁŃŚŹŻČŠŽŘÁÉÓÍÚÖÜÄŮŐŰŇĎŤĚ ăâîşţđľĺŕôýďťňĂÂÎŞŢĐĽÝë"
TURKISH = "ğışçöüİ âîĞŞÇÖÜ û"
BALTIC = "ąčęėįšųūžāēģīķļņ ĄČĘĖĮŠŲŪŽĀĒĢĪĶĻŅ õäöüÕÄÖÜé"
CYRILLIC = "оеаинтсрвлкм дпуяыьгзбчйхжшюцОЕАИНТСРВЛКМДП щэфъёіїєґўУЯЫЬГЗБЧЙХЖШЮЦЩЭФЪЁІЇЄҐ"
GREEK = "αοιετσνηυρπκ μλςδγωχάέήίόύώΑΕΤΣΟΠ θφβξζψϊϋΙΝΗΥΡΚΜΛΔΓΩΧΘΦΒΞΖΨΆΈΉΊΌΎΏ"
HEBREW = "יוהלאמרתבשנ עקדחפכסטגזצםן ךףץ"
ARABIC = "الينمرتبوةدع سحفكقجشطصخذىضءأإ زغثظآؤئپچژگ،؟"
THAI = "นรอกเงมยลวดทสาี่้ั ตะปบคหแจพชขใไโผิืุู์ำ ธซณศษญฐถภฉฟ็ๆฤฮฬฎฏฑฒฆ"
HANGUL = "hangul"
KANA = "kana"
HAN = "han"
THAI_MARKS = frozenset("ัิีึืฺุู็่้๊๋์ํ๎")
LATIN = frozenset({WESTERN, CENTRAL, TURKISH, BALTIC})
PUNCTUATION = frozenset("“”„‘’‚–—…«»€£§°©®™·•№\u00a0²³½´‹›")
SIGNS_INSIDE = re.compile(r"[^\W\d_][^\w\s'’´·.,:;/&@()\[\]\"+«»“”„–—…\u00a0-][^\W\d_]")
"""A sign between two letters, as wrong encodings make them."""
TYPICAL, USUAL, UNUSUAL, ODD, IMPOSSIBLE = 2.0, 0.7, -1.0, -1.5, -4.0
GROUPS = (2.2, 1.7, 1.0)
"""What a letter of each group of its script counts, from frequent to rare."""


class Candidate(NamedTuple):
    """An encoding and what people write in it. bonus: how much more usual it is than others.

    letters: those beyond ASCII, in three groups from frequent to rare; or one of the East Asian scripts.
    """

    name: str
    letters: str
    bonus: float = 0.0


CANDIDATES = (
    Candidate("cp1252", WESTERN, 0.2),
    Candidate("cp1250", CENTRAL, 0.1),
    Candidate("cp1251", CYRILLIC, 0.1),
    Candidate("cp1253", GREEK),
    Candidate("cp1254", TURKISH, 0.05),
    Candidate("cp1255", HEBREW),
    Candidate("cp1256", ARABIC),
    Candidate("cp1257", BALTIC),
    Candidate("cp874", THAI),
    Candidate("koi8_r", CYRILLIC),
    Candidate("iso8859_2", CENTRAL),
    Candidate("iso8859_5", CYRILLIC),
    Candidate("mac_roman", WESTERN),
    Candidate("cp850", WESTERN),
    Candidate("cp852", CENTRAL),
    Candidate("cp862", HEBREW),
    Candidate("cp866", CYRILLIC),
    Candidate("cp932", KANA),
    Candidate("euc_jp", KANA),
    Candidate("cp949", HANGUL),
    Candidate("gb18030", HAN),
    Candidate("big5hkscs", HAN),
)


def guess(data: bytes) -> str:
    """The name of a codec; `cp1252` where nothing speaks for another."""
    sample = _sample(data)
    scores = {candidate.name: _score(sample, candidate) for candidate in CANDIDATES}
    return max(scores, key=lambda name: scores[name])


def _sample(data: bytes) -> bytes:
    """Lines that are not all ASCII, whole ones, so that no character is cut."""
    size, lines = 0, list[bytes]()
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
        if size > MAX_BYTES:
            break
    return b"".join(lines)


def _score(sample: bytes, candidate: Candidate) -> float:
    """How well the text reads, per byte that is not ASCII."""
    count = len(sample) - sum(byte < 128 for byte in sample)  # noqa: PLR2004 - ASCII
    try:
        text = sample.decode(candidate.name)
        lost = 0
    except UnicodeDecodeError:
        text = sample.decode(candidate.name, "replace")
        lost = text.count("\ufffd")
    points = sum(_points(character, candidate) for character in text if not character.isascii())
    points += IMPOSSIBLE * lost + ODD * (len(SIGNS_INSIDE.findall(text)) + _clashes(text, candidate))
    if candidate.letters in EAST_ASIAN:
        points *= 2  # for two bytes
    return points / max(count, 1) + candidate.bonus


def _clashes(text: str, candidate: Candidate) -> float:
    """Letters next to each other as they hardly ever stand in the script."""
    found = 0.0
    for a, b in pairwise(text):
        if a.isascii() and b.isascii():
            continue
        if a.islower() and b.isupper():
            found += 1
        elif a.isalpha() and b.isalpha() and candidate.letters not in EAST_ASIAN:
            if candidate.letters in LATIN:
                found += 0.7 if not (a.isascii() or b.isascii()) else 0
            else:
                found += a.isascii() != b.isascii()
        elif b in THAI_MARKS and not ("ก" <= a <= "ฮ" or a in THAI_MARKS):
            found += 1
    return found


@cache
def _points(character: str, candidate: Candidate) -> float:
    category = unicodedata.category(character)
    if category in ("Cc", "Cn", "Co") or character == "\ufffd":
        return IMPOSSIBLE
    if candidate.letters in EAST_ASIAN:
        return EAST_ASIAN[candidate.letters](character, candidate.name)
    for points, letters in zip(GROUPS, candidate.letters.split(), strict=True):
        if character in letters:
            return points
    if character in PUNCTUATION:
        return USUAL
    return UNUSUAL if category.startswith("L") else ODD


def _korean(character: str, name: str) -> float:
    if "가" <= character <= "힣":
        return TYPICAL if min(character.encode(name)) > KOREAN_EXTENSION else ODD
    return USUAL if _is_wide_punctuation(character) else ODD


def _japanese(character: str, name: str) -> float:
    if "ぁ" <= character <= "ヿ":
        return TYPICAL
    if "｡" <= character <= "ﾟ":
        return ODD
    if "一" <= character <= "鿿":
        return 1.0 if _lead(character, name) in JAPANESE_LEVEL_1[name] else UNUSUAL
    return USUAL if _is_wide_punctuation(character) else ODD


def _chinese(character: str, name: str) -> float:
    if "一" <= character <= "鿿":
        first, *others = character.encode(name)
        return 1.5 if first in CHINESE_LEVEL_1[name] and len(others) == 1 else ODD
    return USUAL if _is_wide_punctuation(character) else ODD


def _is_wide_punctuation(character: str) -> bool:
    return "　" <= character <= "〿" or "！" <= character <= "～" or character in PUNCTUATION


def _lead(character: str, name: str) -> int:
    return character.encode(name)[0]


KOREAN_EXTENSION = 0xA0
"""Syllables that are in daily use have both bytes above it."""
JAPANESE_LEVEL_1: Mapping[str, range] = {"cp932": range(0x88, 0x98), "euc_jp": range(0xB0, 0xD0)}
CHINESE_LEVEL_1: Mapping[str, range] = {"gb18030": range(0xB0, 0xD8), "big5hkscs": range(0xA4, 0xC7)}
"""First bytes of the characters that are in daily use."""
EAST_ASIAN = {HANGUL: _korean, KANA: _japanese, HAN: _chinese}
