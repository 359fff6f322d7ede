"""Decoding of files of banks: mostly ASCII, with few accents, and seldom with a word about the encoding.

A detector by frequencies needs a page of text. These files may have one umlaut, which it takes for Greek.
"""

import re

from docmill.reading.text import encodings

_USUAL = ("cp1252", "cp1250", "cp850")
"""Encodings of the files of banks, the most usual one first."""
_MANY = 20
"""From this number of accents on, their frequencies are evidence."""
_ACCENT = re.compile(rb"[\xc0-\xff]")
_OTHER_SCRIPT = re.compile(rb"[\xa1-\xff]{4}")
"""Words of nothing but accents: of another script."""
_IMPLAUSIBLE = re.compile(
    r"(?<=[^\W\d_])[^\w\s\x00-\x7f«»·\xad\u2013\u2014\u2019\u2026](?=[^\W\d_])"  # a sign within a word
    r"|(?<!\w)[£¥¤¯²³¹¼½¾](?=[^\W\d_])"  # or at the beginning of one
    r"|(?<=[a-zß-ÿ])[²³¹¼½¾ŠŒŽŸÀ-ÖØ-Þ](?=[a-zß-ÿ])"  # a digit or a capital letter within small ones
)


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode a file of a bank as `encodings.decode` does, with windows-1252 where little suggests another."""
    return encodings.decode(data, declared, guesser=_guess)


def _guess(data: bytes) -> str:
    lines = b"".join(line for line in data.splitlines(keepends=True) if not line.isascii())
    sample = lines[: encodings.MAX_BYTES]
    if _OTHER_SCRIPT.search(sample):
        return encodings.guess(data)
    accents = _ACCENT.findall(sample)
    if len(accents) >= _MANY:
        name = encodings.guess(data)
        # Small and capital letters are 32 apart: a Spanish file has many letters, but only one in question.
        letters = {
            each[0] | 0x20
            for each in accents
            if each.decode(encodings.USUAL, "replace") != each.decode(name, "replace")
        }
        if len(letters) > 1:
            return name
    for name in _USUAL:
        try:
            text = sample.decode(name)
        except UnicodeDecodeError:
            continue
        if not _IMPLAUSIBLE.search(text):
            return name
    return encodings.guess(data)
