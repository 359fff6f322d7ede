"""The information to the account owner (tag 86 of MT940): German subfields, SEPA keywords, codes in slashes.

Sources: Deutsche Kreditwirtschaft, Anlage 3 des DFÜ-Abkommens, chapter 8.2.4; Nederlandse Vereniging van
Banken, SEPA in MT940.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from docmill.reading.statements.parsed import (
    find_iban,
    is_creditor_reference,
    one_line,
    text_with_return,
)

_SUBFIELDS = re.compile(r"\A\d{3}(?P<mark>[?<>~^|])(?=\d\d)")
_RETURNS = frozenset({"108", "109", "159", "181", "184"})
"""Codes of returned direct debits, a returned transfer, and direct debits that are given back."""
_FULL = 27
"""Characters of a subfield. A shorter one ends with its text; a full one may end within a word."""
_LINE = 65
"""Characters of a full line, which may end within a word. A space at its end is often lost."""
_SHORT_LINE = 50
"""Least characters of the full lines of a bank."""
_PURPOSE = tuple(str(number) for number in (*range(20, 30), *range(60, 64)))
_NAMES = ("32", "33")
_KEYWORD = re.compile(
    r"(EREF|KREF|MREF|CRED|DEBT|SVWZ|ABWA|ABWE|IBAN|BIC|PURP|MDAT|SQTP|COAM|OAMT|DDAT|ORCR|ORMR)\+\s?"
    r"|(MTLG):\s?"
)
"""The last one is the bank's message."""
_SLASH_CODE = re.compile(
    r"/(TRTP|TRCD|EREF|PREF|MARF|CSID|IBAN|BIC|NAME|CNTP|REMI|PURP|BENM|ORDP|ULTC|ULTD|ULTB|RTRN|ISDT|CREF"
    r"|SVCL|ID|BUSP|CHGS|OCMT|EXCH|OPAM)/"
)


class Details(NamedTuple):
    """What the bank states of an entry. references: the structured one of the creditor first."""

    name: str | None = None
    iban: str | None = None
    references: tuple[str | None, ...] = ()
    text: str | None = None


def read_details(text: str) -> Details:
    """Read the text of tag 86, whose lines are joined by newlines."""
    joined = "".join(_with_lost_spaces(text.rstrip("\n").split("\n")))
    subfields = _SUBFIELDS.match(joined)
    if subfields is not None:
        return _of_subfields(joined[subfields.end() - 1 :], subfields["mark"], code=joined[:3])
    if len(_SLASH_CODE.findall(f"/{joined}")) > 1:
        return _of_slash_codes(joined)
    words = _keywords(joined)
    return _of_keywords(words, name=None, iban=find_iban(words.get("IBAN")))


def _with_lost_spaces(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with a space behind each that is not full. Some banks have shorter lines than others.

    The first line may be shorter by the tag.
    """
    longest = max(map(len, lines[:-1]), default=0)
    full = longest if _SHORT_LINE <= longest < _LINE - 1 else _LINE
    for index, (line, following) in enumerate(zip(lines, [*lines[1:], "?"], strict=True)):
        yield line
        is_full = len(line) >= full or (not index and len(line) == full - len(":86:"))
        if not is_full and not following.startswith("?"):
            yield " "


def _of_subfields(text: str, mark: str, *, code: str) -> Details:
    parts: dict[str, str] = {}
    for part in text.split(mark):
        number, content = part[:2], part[2:]
        if re.fullmatch(r"\d\d", number):
            parts.setdefault(number, content)
        elif parts:  # the mark stands in a text
            last = next(reversed(parts))
            parts[last] += mark + part
    words = _keywords("".join(_joined(parts, _PURPOSE)))
    iban = find_iban(parts.get("31")) or find_iban(words.get("IBAN"))
    name = one_line("".join(_joined(parts, _NAMES)))
    details = _of_keywords(words, name=name, iban=iban)
    if code in _RETURNS:
        return details._replace(
            text=text_with_return(one_line(f"{parts.get('00', '')} {details.text or ''}"))
        )
    return details if details.text else details._replace(text=one_line(parts.get("00")))


def _joined(parts: Mapping[str, str], numbers: tuple[str, ...]) -> Iterator[str]:
    """The subfields, with a space behind each that is not full."""
    for number in numbers:
        if number in parts:
            yield parts[number]
            if len(parts[number]) < _FULL:
                yield " "


def _keywords(text: str) -> dict[str, str]:
    """The text behind each keyword of SEPA; what stands before the first one has the keyword ""."""
    parts = _KEYWORD.split(text)
    words = {"": parts[0]}
    for keyword, message, content in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        words.setdefault(keyword or message, content)
    return {keyword: content.strip() for keyword, content in words.items() if content.strip()}


def _of_keywords(words: Mapping[str, str], *, name: str | None, iban: str | None) -> Details:
    purpose = words.get("SVWZ")
    text = " ".join(filter(None, (words.get(""), purpose or words.get("MTLG"))))
    structured = purpose if purpose is not None and is_creditor_reference(purpose) else None
    return Details(name, iban, (structured, words.get("EREF"), words.get("KREF")), one_line(text))


def _of_slash_codes(text: str) -> Details:
    parts = _SLASH_CODE.split(text if text.startswith("/") else f"/{text}")
    codes: dict[str, str] = {}
    for code, content in zip(parts[1::2], parts[2::2], strict=True):
        codes.setdefault(code, content)
    name, iban = codes.get("NAME"), find_iban(codes.get("IBAN"))
    if "CNTP" in codes:  # account, bank, name and town
        account, _, party = codes["CNTP"].partition("/")
        iban = iban or find_iban(account)
        name = name or party.partition("/")[2].partition("/")[0]
    remittance = codes.get("REMI", "").strip("/")
    structured = None
    if remittance.startswith("USTD//"):
        remittance = remittance.removeprefix("USTD//")
    elif remittance.startswith("STRD/"):
        structured, remittance = remittance.rpartition("/")[2], ""
    elif is_creditor_reference(remittance):
        structured = remittance
    reference = codes.get("EREF", "").strip("/")
    purpose = one_line(remittance.strip("/"))
    if "RTRN" in codes:
        purpose = text_with_return(purpose, codes["RTRN"].strip("/").replace("/", " "))
    return Details(
        one_line((name or "").strip("/")), iban, (structured, reference, codes.get("CREF")), purpose
    )
