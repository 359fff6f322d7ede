"""Other values of the same form in the places of those on a page: names, addresses, amounts, dates, codes.

Words are changed in place. What stands on a page several times is changed to the same everywhere. Amounts are
all multiplied by one whole number, so that sums and products hold.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from docmill.model.document import letters_and_digits
from docmill.understanding.page_model.seen import LABEL, NONE
from tools.page_model.samples import Sample

Box = tuple[float, float, float, float]
_AMOUNT = re.compile(
    r"(?P<before>[^\d%]{0,4})(?P<whole>\d{1,3}(?P<mark>[.,' ])\d{3}(?:(?P=mark)\d{3})*|\d{1,7})"
    r"(?P<point>[.,])(?P<cents>\d\d)(?P<after>[^\d%]{0,4})"
)
_DAY = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})(?!\d)")
_CLOCK = re.compile(r"(?<!\d)((?:[01]?\d|2[0-3])[:.h])[0-5]\d(?![\d,])")
_AMOUNT_ROLES = frozenset(
    ("gross_total", "net_total", "tax_total", "tip", "items.quantity", "items.unit_price", "items.amount")
)
_FACTORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13)
_YEARS = (2008, 2028)
_LAST_MONTH, _LAST_DAY, _YEAR_DIGITS = 12, 28, 4
_FEWEST = 5
"""Values of a country from which on one of them is taken for another."""
_MOST_TRIES = 8
_PAGE_EDGE = 0.99


@dataclass(slots=True)
class Word:
    """A word of a sample that is being changed. box: as in `Sample`."""

    text: str
    box: Box
    line: int
    role: str | None
    goes_on: bool


def words_of(sample: Sample) -> list[Word]:
    """The words of a sample, to be changed."""
    boxes: list[list[float]] = sample.boxes.tolist()
    return [
        Word(text, (box[0], box[1], box[2], box[3]), line, role, goes_on)
        for text, box, line, role, goes_on in zip(
            sample.texts, boxes, sample.lines.tolist(), sample.roles, sample.goes_on, strict=True
        )
    ]


def stretches(words: Sequence[Word]) -> list[list[Word]]:
    """The words of each value, in reading order."""
    latest: dict[str, list[Word]] = {}
    found: list[list[Word]] = []
    for word in words:
        if word.role is None or word.role == NONE or word.role.startswith(LABEL):
            continue
        if not word.goes_on or word.role not in latest:
            latest[word.role] = []
            found.append(latest[word.role])
        latest[word.role].append(word)
    return found


def _kind(role: str) -> str:
    """The kind of texts that stand for each other: names of firms, of people, addresses, items."""
    owner, _, leaf = role.rpartition(".")
    if role in {"items.description", "subject"}:
        return role
    if leaf == "name":
        return "person" if owner == "employee" else "firm"
    return "address" if leaf == "address" else ""


@dataclass
class ValuePool:
    """Names, addresses and items to take the places of others, by kind and country, or language for items.

    It may hold values of pages to train on only: names of test pages must not be learned.
    """

    texts: dict[tuple[str, str | None], list[str]] = field(
        default_factory=lambda: defaultdict[tuple[str, str | None], list[str]](list)
    )

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "ValuePool":
        """The values on these pages, as they were read."""
        pool = cls()
        for sample in samples:
            for stretch in stretches(words_of(sample)):
                if kind := _kind(stretch[0].role or ""):
                    pool.texts[pool.key(kind, sample)].append(" ".join(word.text for word in stretch))
        return pool

    @staticmethod
    def key(kind: str, sample: Sample) -> tuple[str, str | None]:
        """The key under which values for this sample stand."""
        return kind, sample.facts.country if kind == "address" else sample.facts.language

    def other(self, kind: str, sample: Sample, *, fewest: int, draw: random.Random) -> str | None:
        """Another value of at least `fewest` words; None if there are too few."""
        texts = self.texts.get(self.key(kind, sample), [])
        if len(texts) < _FEWEST:
            return None
        for _ in range(_MOST_TRIES):
            text = draw.choice(texts)
            if len(text.split()) >= fewest:
                return text
        return None


def swap_texts(words: list[Word], sample: Sample, pool: ValuePool, draw: random.Random) -> list[Word]:
    """Put other names, addresses and items in the places of some. Returns the words in reading order."""
    others: dict[str, str | None] = {}
    replaced: dict[int, list[Word]] = {}
    for stretch in stretches(words):
        kind = _kind(stretch[0].role or "")
        if not kind:
            continue
        by_line = [list(group) for _, group in groupby(stretch, key=lambda word: word.line)]
        text = " ".join(word.text for word in stretch)
        name = letters_and_digits(text)
        if name not in others:
            others[name] = pool.other(kind, sample, fewest=len(by_line), draw=draw)
        other = others[name]
        if other is None or draw.random() < 0.15:  # noqa: PLR2004 - a share of the items, and some of the names
            continue
        other = other.upper() if text.isupper() else other
        for old, parts in zip(by_line, _share_out(other.split(), by_line), strict=True):
            replaced[id(old[0])] = _set_words(old, parts, is_first=old is by_line[0])
            replaced.update((id(word), []) for word in old[1:])
    changed: list[Word] = []
    for word in words:
        changed.extend(replaced.get(id(word), [word]))
    _make_room(changed)
    return changed


def _share_out(texts: Sequence[str], lines: Sequence[Sequence[Word]]) -> list[list[str]]:
    """The texts on as many lines, as long in proportion as these."""
    lengths = [sum(len(word.text) + 1 for word in line) for line in lines]
    total, letters = sum(lengths), sum(len(text) + 1 for text in texts)
    shared: list[list[str]] = [[] for _ in lines]
    line, used, until = 0, 0, lengths[0] / total * letters
    for index, text in enumerate(texts):
        rest = len(texts) - index
        is_full = bool(shared[line]) and used + len(text) / 2 > until
        if line + 1 < len(lines) and (is_full or rest <= len(lines) - 1 - line) and shared[line]:
            line += 1
            until += lengths[line] / total * letters
        shared[line].append(text)
        used += len(text) + 1
    return shared


def _set_words(old: Sequence[Word], texts: Sequence[str], *, is_first: bool) -> list[Word]:
    """Words in the place of others on one line, around the same middle or from the same left edge."""
    left, right = old[0].box[0], old[-1].box[2]
    top, bottom = min(word.box[1] for word in old), max(word.box[3] for word in old)
    cell = (right - left) / max(1, sum(len(word.text) + 1 for word in old) - 1)
    width = cell * (sum(len(text) + 1 for text in texts) - 1)
    middle = (left + right) / 2
    if abs(middle - 0.5) < 0.1:  # noqa: PLR2004 - it is centred on the page
        left = max(0.01, middle - width / 2)
    if left + width > _PAGE_EDGE:
        cell *= max(0.3, (_PAGE_EDGE - left) / width)
    made: list[Word] = []
    for text in texts:
        box = (left, top, left + cell * len(text), bottom)
        made.append(Word(text, box, old[0].line, old[0].role, not (is_first and not made)))
        left += cell * (len(text) + 1)
    return made


def _make_room(words: Sequence[Word]) -> None:
    """Shorten words that would cover the next one on their line."""
    for word, following in pairwise(words):
        if following.line == word.line and word.box[2] > following.box[0] > word.box[0]:
            word.box = (word.box[0], word.box[1], following.box[0], word.box[3])


def multiply_amounts(words: Sequence[Word], draw: random.Random) -> None:
    """Multiply all amounts with cents by one whole number, and keep how they are written."""
    factor = draw.choice(_FACTORS)
    for word, following in zip(words, [*words[1:], None], strict=True):
        match = _AMOUNT.fullmatch(word.text)
        is_rate = following is not None and following.text.startswith("%") and following.line == word.line
        if match is None or is_rate or factor == 1:
            continue
        digits = re.sub(r"\D", "", match["whole"]) + match["cents"]
        cents = int(digits) * factor
        whole = f"{cents // 100:,}" if match["mark"] else str(cents // 100)
        whole = whole.replace(",", match["mark"] or "")
        _write(
            word, f"{match['before']}{whole}{match['point']}{cents % 100:02}{match['after']}", to_left=True
        )


def _write(word: Word, text: str, *, to_left: bool) -> None:
    """Write another text with characters of the same width, its left or right edge where it was."""
    left, top, right, bottom = word.box
    width = (right - left) / len(word.text) * len(text)
    word.text = text
    word.box = (max(0.0, right - width), top, right, bottom) if to_left else (left, top, left + width, bottom)


def change_dates(words: Sequence[Word], draw: random.Random) -> None:
    """Change numeric dates to others in the same form, all of a page by the same days, months and years."""
    year, days, months = draw.randrange(*_YEARS), draw.randrange(28), draw.randrange(12)

    def changed(match: re.Match[str]) -> str:
        first, mark, second, third = match.groups()
        if int(second) > 31 or (int(first) > 31 and len(first) < _YEAR_DIGITS):  # noqa: PLR2004
            return match[0]  # no date
        if len(first) == _YEAR_DIGITS:
            parts = [str(year), _other_number(second, months), _other_number(third, days)]
            return mark.join(parts) if len(third) <= 2 else match[0]  # noqa: PLR2004 - digits of a day
        new_year = f"{year}"[-len(third) :] if len(third) in {2, 4} else third
        return mark.join([_other_number(first, days), _other_number(second, months), new_year])

    for word in words:
        if _DAY.search(word.text):
            _write(word, _DAY.sub(changed, word.text), to_left=False)


def _other_number(digits: str, shift: int) -> str:
    """A number that may be a month as well if this one may be, and is none if this one is none."""
    number = int(digits)
    if number > _LAST_MONTH:
        span = _LAST_DAY - _LAST_MONTH
        number = _LAST_MONTH + 1 + (number + shift) % span
    else:
        number = 1 + (number + shift) % _LAST_MONTH
    return f"{number:0{len(digits)}}"


def change_codes(words: Sequence[Word], draw: random.Random) -> None:
    """Change the digits of codes and telephone numbers, the same word always to the same, and minutes."""
    minute = draw.randrange(60)
    others: dict[str, str] = {}
    for word in words:
        if not any(map(str.isdecimal, word.text)) or _AMOUNT.fullmatch(word.text) or _DAY.search(word.text):
            continue
        if _CLOCK.search(word.text):
            word.text = _CLOCK.sub(lambda match: f"{match[1]}{minute:02}", word.text)
            continue
        if word.role in _AMOUNT_ROLES:  # it has no cents, or was misread
            continue
        if sum(map(str.isdecimal, word.text)) < 3:  # noqa: PLR2004 - quantities, rates, sizes
            continue
        if word.text not in others:
            others[word.text] = "".join(
                str(draw.randrange(10)) if character.isdecimal() else character for character in word.text
            )
        word.text = others[word.text]
