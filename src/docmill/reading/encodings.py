"""Text from bytes, whatever they claim to be written in."""

import codecs

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE_BYTES = 4096
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1a\x1b")) + b"\x7f"
FEW_CONTROLS = 0.01
"""Beyond this share of control characters it is not text."""


def is_text(data: bytes) -> bool:
    """Whether the beginning of a file looks like text in any encoding."""
    if data.startswith(tuple(bom for bom, _ in BOMS)) or _wide(data):
        return True
    sample = data[:SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, CONTROLS))
    return b"\0" not in sample and controls <= FEW_CONTROLS * len(sample)


def decode(data: bytes, declared: str | None = None) -> str:
    """The text. Never fails: what cannot be read becomes U+FFFD."""
    for bom, name in BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(name, "replace")
    wide = _wide(data)
    if wide is not None:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end >= len(data) and "unexpected end" in error.reason:
            return data.decode("utf-8", "replace")
    del declared
    return data.decode("cp1252", "replace")


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: every second byte, or three of four, is mostly zero."""
    sample = data[:SAMPLE_BYTES]
    sample = sample[: len(sample) // 4 * 4]
    if not sample:
        return None
    zeros = [sample[at::4].count(0) * 4 / len(sample) for at in range(4)]
    few, many = 0.1, 0.6
    for name, holds_text in (
        ("utf-32-le", (0,)),
        ("utf-32-be", (3,)),
        ("utf-16-le", (0, 2)),
        ("utf-16-be", (1, 3)),
    ):
        if all(zeros[at] < few if at in holds_text else zeros[at] > many for at in range(4)):
            return name
    return None
