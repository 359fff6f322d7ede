"""Numbers as a spreadsheet shows them (ISO/IEC 29500-1, 18.8.30 and 18.8.31)."""

import re
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

GENERAL = "General"
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "$#,##0", 6: "$#,##0", 7: "$#,##0.00", 8: "$#,##0.00",
    9: "0%", 10: "0.00%", 11: "0.00E+00", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd hh:mm",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;-#,##0", 42: "$#,##0;-$#,##0", 43: "#,##0.00;-#,##0.00", 44: "$#,##0.00;-$#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss", 48: "0.0E+0", 49: "@",
}  # fmt: skip
"""Formats that files name by number only. 14 and 22 follow the country of the machine: here they are ISO."""
TOKEN = re.compile(
    r"""
      "(?P<quoted>[^"]*)"?
    | \\(?P<escaped>.)
    | _.                                    # the room of a character
    | \*(?P<fill>.)
    | \[\$(?P<currency>[^\]-]*)[^\]]*\]
    | \[(?P<elapsed>h+|m+|s+)\]
    | \[[^\]]*\]                            # a colour or a condition
    | (?P<half>AM/PM|A/P)
    | (?P<general>General)
    | (?P<date>y+|m+|d+|h+|s+(?:\.0+)?)
    | (?P<exponent>E[+-])
    | (?P<digit>[0#?]+(?:,+[0#?]+)*,*(?:\.[0#?]*)?,*|\.[0#?]+,*)
    | (?P<text>@)
    | (?P<percent>%)
    | (?P<literal>.)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
MONTHS = "January February March April May June July August September October November December".split(" ")  # noqa: SIM905 - twelve lines otherwise
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
LARGEST_DAY = 2_958_465
"""31 December 9999."""
MOST_DECIMALS = 15
MONTH_LETTER = 5

Part = tuple[str, str]
"""A token's kind and text."""


SectionKind = Literal["date", "number", "text", "general"]


class FormatSection(NamedTuple):
    """One of the up to four parts of a format."""

    kind: SectionKind
    parts: tuple[Part, ...]


def format_number(number: float, code: str, *, from_1904: bool = False) -> str:
    """Format the number as a cell of this format shows it, with English separators and names.

    from_1904: days count from 1904 instead of 1900.
    """
    section, is_unsigned = _section_of(number, code)
    if section.kind == "date":
        return _date(number, section, from_1904=from_1904)
    if section.kind == "general":
        return general(number)
    return _number(abs(number) if is_unsigned else number, section)


def stored_value(number: float, code: str, *, from_1904: bool = False) -> float | date:
    """The day that a cell of this format holds, or else its number, which may be more exact than its text."""
    is_date = _section_of(number, code)[0].kind == "date"
    return (_day_of(number, from_1904=from_1904) or number) if is_date else number


def _day_of(number: float, *, from_1904: bool = False) -> date | None:
    """The day that a number counts; None for one that is none."""
    if not 1 <= number <= LARGEST_DAY:
        return None
    try:
        return _moment(number, from_1904=from_1904).date()
    except OverflowError:
        return None


def _section_of(number: float, code: str) -> tuple[FormatSection, bool]:
    """The section of a format that counts for a number, and True if it is written without the sign."""
    sections = _sections(code[:255])
    numeric = [section for section in sections if section.kind != "text"] or [FormatSection("general", ())]
    index = 1 if number < 0 < len(numeric) - 1 else 0
    if not number and len(numeric) > 2:  # noqa: PLR2004 - positive; negative; zero
        index = 2
    return numeric[index], index > 0


def general(number: float) -> str:
    """Format a number without a format: whole ones without decimals, others with ten digits."""
    if number == int(number) and abs(number) < 1e15:  # noqa: PLR2004 - digits that a float holds
        return str(int(number))
    return f"{number:.10g}"


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[FormatSection, ...]:
    """The sections of a format. An `m` after hours or before seconds is a minute."""
    tokens: list[list[Part]] = [[]]  # of each section
    for match in TOKEN.finditer(code):
        kind = match.lastgroup
        if kind == "literal" and match[0] == ";":
            tokens.append([])
        elif kind is not None and kind != "fill":
            tokens[-1].append((kind, match[kind]))
    sections: list[FormatSection] = []
    for parts in tokens:
        kinds = {kind for kind, _ in parts}
        dates = [index for index, (kind, _) in enumerate(parts) if kind in ("date", "elapsed")]
        units = [parts[index][1][:1].lower() for index in dates]
        for index, before, after in zip(dates, ["", *units], [*units[1:], ""], strict=False):
            text = parts[index][1].lower()
            if parts[index][0] == "date" and text in ("m", "mm") and (before == "h" or after == "s"):
                parts[index] = ("minute", text)
        section_kind: SectionKind = "general" if "general" in kinds else "number"
        if kinds & {"date", "elapsed", "half"}:
            section_kind = "date"
        elif "text" in kinds:
            section_kind = "text"
        sections.append(FormatSection(section_kind, tuple(parts)))
    return tuple(sections)


def _date(number: float, section: FormatSection, *, from_1904: bool) -> str:
    if not 0 <= number <= LARGEST_DAY:
        return general(number)
    try:
        moment = _moment(number, from_1904=from_1904)
    except OverflowError:
        return general(number)
    if moment.microsecond and not any("." in text for _, text in section.parts):
        moment = (moment + timedelta(microseconds=500_000)).replace(microsecond=0)
    halves = any(kind == "half" for kind, _ in section.parts)
    return "".join(_date_part(part, moment, number, halves=halves) for part in section.parts).strip()


def _moment(number: float, *, from_1904: bool) -> datetime:
    """The moment that a number of days counts. Raises OverflowError."""
    if from_1904:
        start = datetime(1904, 1, 1)  # noqa: DTZ001 - a cell has no time zone
    else:  # Excel counts a 29 February 1900 that never was
        start = datetime(1899, 12, 30) if number >= 60 else datetime(1899, 12, 31)  # noqa: DTZ001, PLR2004 - as above
    return start + timedelta(seconds=round(number * 86400, 3))


def _date_part(part: Part, moment: datetime, number: float, *, halves: bool) -> str:
    """A part of a date. halves: hours count to twelve."""
    kind, text = part
    unit, size = text[:1].lower(), len(text)
    if kind == "half":
        formatted = "AM" if moment.hour < 12 else "PM"  # noqa: PLR2004 - noon
    elif kind == "elapsed":
        formatted = str(int(round(number * 86400) // {"h": 3600, "m": 60, "s": 1}[unit])).zfill(size)
    elif kind == "minute":
        formatted = str(moment.minute).zfill(size)
    elif kind != "date":
        formatted = text
    elif unit == "y":
        formatted = f"{moment.year:04}" if size > 2 else f"{moment.year % 100:02}"  # noqa: PLR2004 - yyyy
    elif unit == "m":
        formatted = _number_or_name(moment.month, MONTHS[moment.month - 1], size)
    elif unit == "d":
        formatted = _number_or_name(moment.day, DAYS[moment.weekday()], size)
    elif unit == "h":
        formatted = str((moment.hour % 12 or 12) if halves else moment.hour).zfill(min(size, 2))
    else:
        seconds, _, decimals = text.partition(".")
        fraction = f".{moment.microsecond:06}"[: len(decimals) + 1] if decimals else ""
        formatted = str(moment.second).zfill(min(len(seconds), 2)) + fraction
    return formatted


def _number_or_name(number: int, name: str, size: int) -> str:
    """A month or a day of the week: in digits, short, whole, or as a letter."""
    if size <= 2:  # noqa: PLR2004 - m, mm
        return str(number).zfill(size)
    if size == MONTH_LETTER:
        return name[0]
    return name[:3] if size == 3 else name  # noqa: PLR2004 - mmm


def _number(number: float, section: FormatSection) -> str:
    patterns = [text for kind, text in section.parts if kind == "digit"]
    digits, is_zero = "", True
    if patterns:
        if any(kind == "exponent" for kind, _ in section.parts):
            decimals = len(patterns[0].partition(".")[2])
            return f"{number:.{min(decimals, MOST_DECIMALS)}E}"
        if any(part == ("literal", "/") for part in section.parts):
            return general(number)  # a fraction
        percents = sum(1 for kind, _ in section.parts if kind == "percent")
        digits, is_zero = _digits(number, patterns[0], percents)
    sign = "-" if number < 0 and not is_zero else ""
    texts: list[str] = []
    for kind, text in section.parts:
        if kind == "digit":  # all digits stand where the first of them do
            texts.append(digits)
            digits = ""
        elif kind not in ("general", "text", "exponent"):
            texts.append(text)
    return sign + "".join(texts).strip()


def _digits(number: float, pattern: str, percents: int) -> tuple[str, bool]:
    """The digits without a sign, and True if they are all zero. percents: number of percent signs."""
    whole, _, decimals = pattern.partition(".")
    scale = len(whole) - len(whole.rstrip(",")) + decimals.count(",")
    whole, decimals = whole.rstrip(","), decimals.rstrip(",")
    exact = Decimal(repr(abs(number))).scaleb(2 * percents - 3 * scale)
    places = min(len(decimals), MOST_DECIMALS)
    rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP) if exact.adjusted() < 20 else exact  # noqa: PLR2004 - digits nobody reads
    text = f"{rounded:,f}" if "," in whole else f"{rounded:f}"
    front, _, back = text.partition(".")
    front = front.zfill(sum(1 for sign in whole if sign == "0"))
    if not any(sign in "0?" for sign in whole) and front == "0" and back.strip("0"):
        front = ""
    kept = len(decimals.rstrip("#"))
    back = back[:kept] + back[kept:].rstrip("0")
    return (f"{front}.{back}" if back else front), not rounded
