"""Which encoding a text is in that does not say so."""

import codecs
import re

MAX_BYTES = 4096
"""So many bytes are looked at, taken from lines that are not all ASCII."""
CANDIDATES = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859_2", "iso8859_5", "koi8_u", "mac_roman", "mac_cyrillic"),
    *("cp737", "cp850", "cp852", "cp857", "cp862", "cp866"),
    *("cp932", "euc_jis_2004", "cp949", "gb18030", "big5hkscs"),
)
"""What people wrote texts in. Of encodings that differ in a few characters the most usual one."""
USUAL = "cp1252"
ALONE = re.compile(rb"(?<![A-Za-z\x80-\xff])[\x80-\xff](?![\x40-\x7e\x80-\xff])")
"""A sign that is no part of a word, as € and § in cp1252, and neither byte of an East Asian character."""
JAPANESE = ("cp932", "euc_jp")
KANA = re.compile(r"[\u3041-\u30fe]")
KANA_SHARE = 1 / 3
"""Of the characters beyond ASCII: in Japanese more, and by chance in nothing else."""


def guess(data: bytes) -> str:
    """The name of a codec; `cp1252` where nothing speaks for another."""
    from chardet import detect  # noqa: PLC0415 - takes 0.1 s and 29 MB, and few files need it

    sample = _sample(data)
    if name := _japanese(sample):
        return name
    words = ALONE.sub(b"", sample)  # chardet would take the signs for letters: five prices in € for Hebrew
    if words.isascii():
        return USUAL
    # The space parts the text from the types of files that chardet knows: a BMP begins with these letters.
    found = detect(b" " + words, include_encodings=CANDIDATES, compat_names=False, prefer_superset=False)
    return codecs.lookup(found["encoding"] or USUAL).name


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


def _japanese(sample: bytes) -> str | None:
    """The encoding in which the text has many kana: chardet takes words that have nothing else for Hebrew."""
    for name in JAPANESE:
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if len(KANA.findall(text)) > KANA_SHARE * sum(not character.isascii() for character in text):
            return name
    return None
