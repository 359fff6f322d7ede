"""Numbers and bullets of lists, as Word and web pages show them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from docmill.reading.formats.package import Element, attribute, child, children, local, value

BULLET = "•"
LEVELS = 9
LONGEST = 200
"""Numbers beyond it are shown in digits: nobody counts that far in letters, but a file may pretend to."""
ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int


class Numbering:
    """Counts the lists of one document; labels must be asked for in the order of the text."""

    def __init__(self, numbering: Element | None, styles: Element | None) -> None:
        self._lists = _lists(numbering)
        self._styles = _styled(styles)
        self._counts: dict[str, list[int]] = {}

    def label(self, properties: Element | None) -> str:
        """Number or bullet of a paragraph with these properties; empty outside of lists."""
        own = child(properties, "numPr")
        name, depth = (
            _place(own) if own is not None else self._styles.get(value(properties, "pStyle") or "", ("", 0))
        )
        levels = self._lists.get(name, {})
        if depth not in levels:
            return ""
        counts = self._counts.setdefault(name, [0] * LEVELS)
        counts[depth] = counts[depth] + 1 if counts[depth] else levels[depth].start
        counts[depth + 1 :] = [0] * (LEVELS - depth - 1)
        return _shown(levels, depth, counts)


def _shown(levels: Mapping[int, _Level], depth: int, counts: list[int]) -> str:
    level = levels[depth]
    if level.form in ("bullet", "none"):
        return BULLET if level.form == "bullet" else ""
    label = level.text
    for at in range(depth + 1):
        form = levels[at].form if at in levels else "decimal"
        label = label.replace(f"%{at + 1}", FORMS.get(form, str)(max(counts[at], 1)))
    return label


def _lists(numbering: Element | None) -> dict[str, dict[int, _Level]]:
    """List id to its levels."""
    abstract: dict[str, dict[int, _Level]] = {}
    lists: dict[str, dict[int, _Level]] = {}
    for found in children(numbering):
        if local(found) == "abstractNum":
            abstract[attribute(found, "abstractNumId") or ""] = _levels(found)
        elif local(found) == "num":
            lists[attribute(found, "numId") or ""] = abstract.get(value(found, "abstractNumId") or "", {})
    return lists


def _levels(abstract: Element) -> dict[int, _Level]:
    levels: dict[int, _Level] = {}
    for found in abstract:
        depth = _digits(attribute(found, "ilvl"), LEVELS)
        if local(found) == "lvl" and depth < LEVELS:
            start = _digits(value(found, "start"), 1)
            levels[depth] = _Level(value(found, "numFmt") or "decimal", value(found, "lvlText") or "", start)
    return levels


def _styled(styles: Element | None) -> dict[str, tuple[str, int]]:
    """Style id to list and depth."""
    found: dict[str, tuple[str, int]] = {}
    for style in children(styles):
        place = child(style, "pPr", "numPr")
        if place is not None:
            found[attribute(style, "styleId") or ""] = _place(place)
    return found


def _place(properties: Element) -> tuple[str, int]:
    return value(properties, "numId") or "", _digits(value(properties, "ilvl"), 0)


def _digits(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < len("100000") else default


def _letters(number: int) -> str:
    """a, b, … z, aa, bb: as Word goes on."""
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
