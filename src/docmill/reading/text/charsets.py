"""Guesses the encoding of a text that does not declare it."""

import codecs
import re

MAX_BYTES = 4096
"""Number of bytes that are examined, from lines that are not all ASCII."""
CANDIDATES = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859_2", "iso8859_5", "koi8_u", "mac_roman", "mac_cyrillic"),
    *("cp737", "cp850", "cp852", "cp857", "cp862", "cp866"),
    *("cp932", "euc_jis_2004", "cp949", "gb18030", "big5hkscs"),
)
"""Encodings that people used. Of those that differ in a few characters, only the most usual one."""
USUAL = "cp1252"
SIGNS = re.compile(
    rb"(?<![A-Za-z\x80-\xff])[\x80-\xff](?![\x40-\x7e\x80-\xff])"  # alone, as the euro behind a price
    rb"|(?<![A-Za-z\x80-\xff])[\x82\x84\x8b\x91\x93](?=[A-Za-z])"  # quotation marks before a word
    rb"|(?<=[A-Za-z])[\x85\x92\x94\x9b](?![\x40-\x7e\x80-\xff])"  # quotation marks and dots behind one
    rb"|(?<=[A-Za-z])\x92(?=[A-Za-z])"  # an apostrophe
)
"""Signs of windows-125x that are no letters; neither byte of an East Asian character is one."""
JAPANESE = ("cp932", "euc_jp")
KANA = re.compile(r"[\u3041-\u30fe]")
KANA_SHARE = 1 / 3
"""Of the characters beyond ASCII. Japanese has more; other bytes do not decode to so many kana."""


def guess(data: bytes) -> str:
    """Return the name of a codec, `cp1252` if nothing suggests another."""
    from chardet import detect  # noqa: PLC0415 - takes 0.1 s and 29 MB, and few files need it

    sample = _sample(data)
    if name := _japanese(sample):
        return name
    words = SIGNS.sub(b"", sample)  # chardet would take them for letters, and prices in euros for Hebrew
    if words.isascii():
        return USUAL
    # The space parts the text from the types of files that chardet knows: a BMP begins with these letters.
    detection = detect(b" " + words, include_encodings=CANDIDATES, compat_names=False, prefer_superset=False)
    return codecs.lookup(detection["encoding"] or USUAL).name


def _sample(data: bytes) -> bytes:
    """Whole lines that are not all ASCII, so that no character is cut."""
    size, lines = 0, list[bytes]()
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
        if size > MAX_BYTES:
            break
    return b"".join(lines)


def _japanese(sample: bytes) -> str | None:
    """The encoding in which the text has many kana. chardet takes words of nothing but kana for Hebrew."""
    for name in JAPANESE:
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if len(KANA.findall(text)) > KANA_SHARE * sum(not character.isascii() for character in text):
            return name
    return None
