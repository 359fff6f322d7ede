"""Decoding of text in a declared, wrongly declared or undeclared encoding; Hebrew in logical order."""

import codecs
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

FINALS = "ךםןףץ"
"""Letters that only end words: at the beginning of many, the words are written backwards."""
LETTERS = "א-ת"
BACKWARDS = re.compile(rf"(?<![{LETTERS}])[{FINALS}][{LETTERS}]")
FORWARDS = re.compile(rf"[{LETTERS}][{FINALS}](?![{LETTERS}])")
LEFT_TO_RIGHT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.,:/@%+_'&-]*[A-Za-z0-9%])?(?: +[A-Za-z][\w.,'&-]*)*")
MIRRORED = str.maketrans("()[]{}<>", ")(][}{><")
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE_BYTES = 4096
LONGEST_LABEL = 40
FEW_ZEROS, MANY_ZEROS = 0.1, 0.6
WIDE = (("utf-32-le", (0,)), ("utf-32-be", (3,)), ("utf-16-le", (0, 2)), ("utf-16-be", (1, 3)))
"""Positions of the bytes of ASCII letters among four."""
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1a\x1b")) + b"\x7f"
FEW_CONTROLS = 0.01
"""Beyond this share of control characters it is not text."""
LABELS: Mapping[str, str] = {
    "ascii": "cp1252", "ansi_x3.4-1968": "cp1252", "us-ascii": "cp1252", "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252", "iso_8859-1": "cp1252", "latin1": "cp1252", "l1": "cp1252", "x-cp1252": "cp1252",
    "iso-8859-9": "cp1254", "latin5": "cp1254", "tis-620": "cp874", "iso-8859-11": "cp874",
    "windows-874": "cp874", "iso-8859-8-i": "iso8859-8", "iso-8859-8-e": "iso8859-8",
    "logical": "iso8859-8", "visual": "iso8859-8", "gb2312": "gb18030", "gb_2312-80": "gb18030",
    "x-gbk": "gb18030", "gbk": "gb18030", "chinese": "gb18030", "big5": "big5hkscs",
    "x-x-big5": "big5hkscs", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "ks_c_5601": "cp949",
    "ksc5601": "cp949", "korean": "cp949", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932",
    "x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman", "x-mac-cyrillic": "mac_cyrillic", "unicode-1-1-utf-8": "utf-8",
}  # fmt: skip
"""Codecs of labels in practice (WHATWG, Encoding Standard), where Python's differ."""
ESCAPES = (
    (re.compile(rb"\x1b\$[@B]|\x1b\([BJ]"), "iso2022_jp"),
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"~\{[!-w]"), "hz"),
)
"""Encodings whose bytes are all ASCII."""
UTF_7 = "utf-7"
HEBREW = frozenset({"iso8859-8", "cp1255", "cp862"})
NO_CHARSETS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
) | frozenset({"utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le"})
"""Codecs for other purposes, and those that are recognised by their bytes."""
MOSTLY = 0.9
"""From this share of valid sequences on, the rest of a text in UTF-8 is damage."""
UNPRINTABLE = {code: None for code in range(32) if chr(code) not in "\t\n\r\f"} | {0x7F: None, 0xFEFF: None}
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
"""Least share of kana among non-ASCII characters. Japanese has more; other bytes decode to fewer."""


def is_text(data: bytes) -> bool:
    """True if the beginning of a file looks like text in any encoding."""
    if is_wide(data) or data.startswith(codecs.BOM_UTF8):
        return True
    sample = data[:SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, CONTROLS))
    return b"\0" not in sample and controls <= FEW_CONTROLS * len(sample)


def is_wide(data: bytes) -> bool:
    """True for UTF-16 and UTF-32, in which most characters have a zero byte."""
    boms = tuple(bom for bom, name in BOMS if name != "utf-8")
    return data.startswith(boms) or _wide(data) is not None


def decode(data: bytes, declared: str | None = None, *, guesser: Callable[[bytes], str] | None = None) -> str:
    """Decode a text, without control characters. Never fails: unreadable bytes become U+FFFD.

    declared: the label that came with it, which may be wrong or unknown: bytes that are valid UTF-8 or
    UTF-16 are read as that. Hebrew in visual order is turned into logical order. guesser: names the codec of
    other bytes, instead of `guess`.
    """
    codec = None
    label = (declared or "").strip().strip("\"'").lower()
    if 0 < len(label) <= LONGEST_LABEL:
        with suppress(LookupError, ValueError):
            info = codecs.lookup(LABELS.get(label, label))
            # Some codecs turn bytes into bytes; the private attribute is the only sign.
            is_charset = getattr(info, "_is_text_encoding", False) and info.name not in NO_CHARSETS
            codec = info.name if is_charset else None
    return _decoded(data, codec, guesser).translate(UNPRINTABLE)


def _decoded(data: bytes, declared: str | None, guesser: Callable[[bytes], str] | None) -> str:
    for bom, name in BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(name, "replace")
    wide = _wide(data)
    if wide is not None:
        return data.decode(wide, "replace")
    if data.isascii():
        return _decoded_ascii(data, declared)
    text = _strictly(data, "utf-8")
    name = "utf-8"
    if text is None and declared is not None:
        text, name = _strictly(data, declared), declared
    if text is None:
        text = data.decode("utf-8", "replace")
        foreign = sum(not character.isascii() for character in text)
        unread = text.count("\ufffd")
        if (guesser and unread == foreign) or unread > (1 - MOSTLY) * foreign + 1:
            name = (guesser or guess)(data)
            text = data.decode(name, "replace")
    return to_logical_order(text) if name in HEBREW else text


def _decoded_ascii(data: bytes, declared: str | None) -> str:
    """Decode ASCII, or one of the encodings whose bytes are all ASCII."""
    if declared == UTF_7 and (text := _strictly(data, UTF_7)) is not None:
        return text
    for pattern, name in ESCAPES:
        if pattern.search(data) and (text := _strictly(data, name)) is not None:
            return text
    return data.decode("ascii")


def _strictly(data: bytes, name: str) -> str | None:
    """The text if all bytes are valid, but for a character cut off at the end; else None."""
    try:
        return codecs.getincrementaldecoder(name)().decode(data, final=False)
    except (UnicodeError, ValueError):
        return None


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: every second byte, or three of four, is mostly zero."""
    sample = data[:SAMPLE_BYTES]
    sample = sample[: len(sample) // 4 * 4]
    if not sample:
        return None
    zeros = [sample[at::4].count(0) * 4 / len(sample) for at in range(4)]
    for name, letters in WIDE:
        if all((zeros[at] < FEW_ZEROS) if at in letters else (zeros[at] > MANY_ZEROS) for at in range(4)):
            return name
    return None


def to_logical_order(text: str) -> str:
    """Turn Hebrew in visual order into logical order."""
    if len(BACKWARDS.findall(text)) <= len(FORWARDS.findall(text)):
        return text
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        content = line.rstrip("\r\n")
        if re.search(f"[{LETTERS}]", content):
            # Read from its other end, except for numbers and words in Latin letters.
            turned = content[::-1].translate(MIRRORED)
            ending = line[len(content) :]
            lines.append(LEFT_TO_RIGHT.sub(lambda match: match[0][::-1], turned) + ending)
        else:
            lines.append(line)
    return "".join(lines)


def guess(data: bytes) -> str:
    """Return the name of the codec of a text that declares none, `cp1252` if nothing suggests another."""
    from chardet import detect  # noqa: PLC0415 - takes 0.1 s and 29 MB, and few files need it

    # Whole lines that are not all ASCII, so that no character is cut.
    size, lines = 0, list[bytes]()
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
        if size > MAX_BYTES:
            break
    sample = b"".join(lines)
    for name in JAPANESE:  # chardet takes words of nothing but kana for Hebrew
        text = sample.decode(name, "replace")
        foreign = sum(not character.isascii() for character in text)
        if "\ufffd" not in text and len(KANA.findall(text)) > KANA_SHARE * foreign:
            return name
    words = SIGNS.sub(b"", sample)  # chardet would take them for letters, and prices in euros for Hebrew
    if words.isascii():
        return USUAL
    # The space parts the text from the types of files that chardet knows: a BMP begins with these letters.
    detection = detect(b" " + words, include_encodings=CANDIDATES, compat_names=False, prefer_superset=False)
    return codecs.lookup(detection["encoding"] or USUAL).name
