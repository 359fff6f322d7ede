"""Numbers and bullets of lists, as Word and web pages show them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from docmill.reading.formats.package import Element, attribute, child, children, local, value, whole_number

BULLET = "•"
LEVELS = 9
MAX_DIGITS = 5
LONGEST = 200
"""Higher numbers are shown in digits: nobody counts that far in letters, but a file may pretend to."""
ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int


class Numbering:
    """Counts the lists of one document; labels must be asked for in the order of the text."""

    def __init__(self, numbering: Element | None, styles: Element | None) -> None:
        abstract: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, dict[int, _Level]] = {}  # by list id
        for element in children(numbering):
            if local(element) == "abstractNum":
                levels = abstract[attribute(element, "abstractNumId") or ""] = {}
                for level in element:
                    depth = whole_number(attribute(level, "ilvl"), LEVELS, max_digits=MAX_DIGITS)
                    if local(level) == "lvl" and depth < LEVELS:
                        start = whole_number(value(level, "start"), 1, max_digits=MAX_DIGITS)
                        form, text = value(level, "numFmt") or "decimal", value(level, "lvlText") or ""
                        levels[depth] = _Level(form, text, start)
            elif local(element) == "num":
                levels = abstract.get(value(element, "abstractNumId") or "", {})
                self._lists[attribute(element, "numId") or ""] = levels
        self._styles: dict[str, tuple[str, int]] = {}  # style id to list and depth
        for style in children(styles):
            properties = child(style, "pPr", "numPr")
            if properties is not None:
                self._styles[attribute(style, "styleId") or ""] = _list_and_depth(properties)
        self._counts: dict[str, list[int]] = {}

    def label(self, properties: Element | None) -> str:
        """Number or bullet of a paragraph with these properties; empty outside of lists."""
        own = child(properties, "numPr")
        if own is not None:
            name, depth = _list_and_depth(own)
        else:
            name, depth = self._styles.get(value(properties, "pStyle") or "", ("", 0))
        levels = self._lists.get(name, {})
        if depth not in levels:
            return ""
        level = levels[depth]
        counts = self._counts.setdefault(name, [0] * LEVELS)
        counts[depth] = counts[depth] + 1 if counts[depth] else level.start
        counts[depth + 1 :] = [0] * (LEVELS - depth - 1)
        if level.form in ("bullet", "none"):
            return BULLET if level.form == "bullet" else ""
        label = level.text
        for at in range(depth + 1):
            form = levels[at].form if at in levels else "decimal"
            label = label.replace(f"%{at + 1}", FORMS.get(form, str)(max(counts[at], 1)))
        return label


def _list_and_depth(properties: Element) -> tuple[str, int]:
    depth = whole_number(value(properties, "ilvl"), 0, max_digits=MAX_DIGITS)
    return value(properties, "numId") or "", depth


def _letters(number: int) -> str:
    """Number in letters: a, b, … z, aa, bb, as Word counts."""
    if number > LONGEST:
        return str(number)
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def _roman(number: int) -> str:
    if number > LONGEST:
        return str(number)
    text = ""
    for size, sign in ROMAN:
        text += sign * (number // size)
        number %= size
    return text


FORMS: Mapping[str, Callable[[int], str]] = {
    "lowerLetter": _letters,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
}
"""Forms of numbers by Word's names; digits by default."""
