"""Splitting of a scan or file into documents, by rules on each page's marks.

To tear a document apart costs more than to leave two together, so that doubt keeps pages together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Literal

from docmill.files import clean_name
from docmill.model.document import Document, Page, Part, letters_and_digits
from docmill.sections.page_marks import Marks, PageMark, marks
from docmill.sections.serial_numbers import ASN_PREFIX, parse_serial_number

SEPARATOR = "DOCMILL-SPLIT"
PATCH_SHEET = "PATCHT"
"""Text of the code on a patch sheet of type T, which many scanners and programs print; always a separator."""
SEPARATOR_WORDS = 40
"""A page with more is no separator, whatever it says."""
BLANK_WORDS = 2
BLANK_CHARACTERS = 6
"""Dust on an empty page is read as so much."""
LONGEST_STEM = 120
BACKS = 0.6
"""From this share of even pages without text on, the sheets are single-sided and their backs say nothing."""
LIKE_HEADS = 0.35
"""Share of words that the heads of two pages of one document have in common."""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page with its marks. role: text, blank, separator, or first page of a document."""

    number: int
    role: Literal["text", "blank", "separator", "first"]
    marks: Marks = field(default_factory=Marks)


def sections(document: Document, *, separator: str = SEPARATOR, asn_prefix: str = ASN_PREFIX) -> list[range]:
    """The page numbers of each document within, in order; one range when there is but one.

    asn_prefix: of the codes with archive serial numbers, such as `ASN00123`, each of which begins a document;
    empty for none. Separator sheets belong to no range; pages without text belong to the document before.
    Nothing but the pages' words and codes decides: the same document is always parted the same way.
    """
    sheets = [_sheet(page, letters_and_digits(separator), asn_prefix) for page in document.pages]
    backs = sheets[1::2]
    has_backs = sum(sheet.role == "blank" for sheet in backs) >= BACKS * max(1, len(backs))
    groups: list[list[_Sheet]] = [[]]
    for sheet in sheets:
        if sheet.role == "separator":
            groups.append([])
        elif sheet.role == "first":
            groups.append([replace(sheet, role="text")])
        elif sheet.role == "text" and _begins(sheet, groups[-1], backs=has_backs):
            groups.append([sheet])
        else:
            groups[-1].append(sheet)
    kept = [part for part in groups if any(sheet.role == "text" for sheet in part)]
    if not kept:
        return [range(1, len(document.pages) + 1)]
    return [range(part[0].number, part[-1].number + 1) for part in kept]


def parts(document: Document, name: str, *, separator: str, asn_prefix: str = ASN_PREFIX) -> tuple[Part, ...]:
    """The sections as parts of the document, named such as "scan, page 3.pdf"; none when there is but one.

    name: of the document's file. separator, asn_prefix: see `sections`.
    """
    ranges = sections(document, separator=separator, asn_prefix=asn_prefix)
    if len(ranges) == 1:
        return ()
    stem = PurePath(clean_name(name)).stem[:LONGEST_STEM]
    ending = ".pdf" if document.media_type == "application/pdf" else ".tiff"
    result: list[Part] = []
    for pages in ranges:
        first, last = pages.start, pages.stop - 1
        numbers = f"page {first}" if first == last else f"pages {first}-{last}"
        result.append(Part(f"{stem}, {numbers}{ending}", "section", first, last))
    return tuple(result)


def _sheet(page: Page, separator: str, asn_prefix: str) -> _Sheet:
    words = page.words.texts
    is_short = len(words) <= SEPARATOR_WORDS
    is_in_code, is_in_text = (
        bool(separator) and any(separator in letters_and_digits(text) for text in texts)
        for texts in ([code.text for code in page.codes], [" ".join(words)])
    )
    is_in_code = is_in_code or any(code.text == PATCH_SHEET for code in page.codes)
    if is_short and (is_in_code or is_in_text):
        return _Sheet(page.number, "separator")
    numbers = [parse_serial_number(code.text, asn_prefix) for code in page.codes if asn_prefix]
    if is_in_code or any(number is not None for number in numbers):
        return _Sheet(page.number, "first", marks(page))
    if len(words) <= BLANK_WORDS and sum(map(len, words)) <= BLANK_CHARACTERS and page.problem is None:
        return _Sheet(page.number, "blank")
    return _Sheet(page.number, "text", marks(page))


def _begins(sheet: _Sheet, before: Sequence[_Sheet], *, backs: bool) -> bool:
    """True if a page with text is the first of a document. backs: every other page is the back of a sheet."""
    pages = [earlier.marks for earlier in before if earlier.role == "text"]
    if not pages:
        return False
    new = sheet.marks
    last = pages[-1].page
    is_complete = last is not None and last.number == last.total
    is_kin = _is_kin(new, pages)
    by_mark, by_number = _by_page_mark(new.page, pages), _by_numbers(new, pages)
    if by_mark is False and by_number is True and not is_kin and not _is_counted(new.page, pages):
        # Another document's number on another paper says more than a count that may be of both.
        by_mark = None
    if by_mark is False or by_number is False:
        return False
    is_marked = new.is_head or bool(new.numbers) or bool(new.identities)
    if (by_mark is True and is_marked and is_complete) or (by_number is True and new.is_head):
        return True
    if is_kin:
        return False
    languages = {page.language for page in pages if page.language}
    is_foreign = new.language is not None and bool(languages) and new.language not in languages
    # A translation names the same people or the same day.
    is_translation = is_foreign and any(
        new.names & page.names or any(day.may_be(other) for day in new.days for other in page.days)
        for page in pages
    )
    if _is_other_bill(new, pages) and not is_translation:
        return True
    is_parted = by_mark is True or is_complete or (before[-1].role == "blank" and not backs)
    # Nothing is in common, else they were kin: neither accounts, VAT ids or domains nor other identities.
    is_other_firm = bool(new.issuers) and any(page.issuers for page in pages)
    is_other_file = bool(new.numbers and new.identities) and any(page.identities for page in pages)
    is_dated = bool(new.days) and any(page.days for page in pages)
    is_other_text = is_dated and is_foreign and not is_translation
    return new.is_head and (is_parted or is_other_firm or is_other_file or is_other_text)


def _by_page_mark(new: PageMark | None, pages: Sequence[Marks]) -> bool | None:
    """True if a document begins by a mark such as "page 1 of 3", False if it goes on, None if unknown."""
    marked = [page.page for page in pages if page.page is not None]
    if new is None or (new.number > 1 and not marked):
        return None
    if new.number > 1:  # it goes on, unless another document is counted: "page 2 of 2" after "page 1 of 4"
        last = marked[-1]
        is_same_count = last.total == new.total or None in (last.total, new.total)
        return False if last.number < new.number and is_same_count else None
    return True if new.total is not None or marked else None


def _is_counted(new: PageMark | None, pages: Sequence[Marks]) -> bool:
    """True if a page before counts the same: "page 1 of 2" before "page 2 of 2", and no bare "page 1"."""
    marked = [page.page for page in pages if page.page is not None]
    return new is not None and any(
        mark.number < new.number if new.total else mark.number == new.number - 1
        for mark in marked
        if mark.total == new.total
    )


def _by_numbers(new: Marks, pages: Sequence[Marks]) -> bool | None:
    """True if a document begins by another document number, False if the number goes on, None if unknown."""
    earlier = {name: [page.numbers[name] for page in pages if name in page.numbers] for name in new.numbers}
    is_same = {number in earlier[name] for name, number in new.numbers.items() if earlier[name]}
    # Two invoices for one order share one number of two.
    return not is_same.pop() if len(is_same) == 1 else None


def _is_kin(new: Marks, pages: Sequence[Marks]) -> bool:
    """True if a page shares an identity with those before: an account, telephone, file number or head."""
    heads = [page.head for page in pages if page.head]
    return any(new.identities & page.identities for page in pages) or any(
        len(new.head & head) / max(1, min(len(new.head), len(head))) >= LIKE_HEADS
        for head in heads[:1] + heads[-1:]
    )


def _is_other_bill(new: Marks, pages: Sequence[Marks]) -> bool:
    """True if both sides are bills by themselves, such as receipts, of other days and sums."""
    return (
        new.is_bill
        and any(page.is_bill for page in pages)
        and not any(new.dates & page.dates or new.sums & page.sums for page in pages)
    )
