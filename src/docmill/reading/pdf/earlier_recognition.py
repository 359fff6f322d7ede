"""Text of a scan that another program recognised earlier, merged with our own reading, word by word.

Scanners' programs read worse than our recogniser, so ours counts. The other decides where ours is doubtful
and both read the other word elsewhere, where a number's check digits prove it, and where an amount was read
in pieces. If our reading fits no language, as of a script that the recogniser does not know, the words in
that script are those of the earlier one.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from stdnum import iban
from stdnum.eu import vat

from docmill.model.document import Page, Words
from docmill.reading.pdf import text_runs
from docmill.reading.pdf.page_objects import Boxes
from docmill.reading.pdf.text_runs import EARLIER, TextRuns, covered_share
from docmill.reading.text.quality import language_fit

SURE = 0.99
"""A word of ours with this confidence is not doubtful."""
FEWEST_LETTERS = 4
"""Letters of a word that is no accident."""
SAME_ROW, SAME_PLACE = 0.4, 0.35
"""Overlap of two words in height and in width, as a share of the smaller, from which on they are the same."""
ANCHOR = 4
"""Characters of a word whose places in both readings show how far the layer is shifted."""
FEWEST_ANCHORS = 3
UNKNOWN_LANGUAGE = 300.0
"""Fit below which a reading is in no language. Of receipts read well it is 350 to 1,000."""
SCRIPT_SHARE = 0.7
"""Share of one script in the letters of a layer that is in it."""
TOUCHED = 0.3
"""Share of a word of ours under words of the layer from which on it is the same one."""
KNOWN_SCRIPTS = frozenset(("CJK", "FULLWIDTH", "HIRAGANA", "KATAKANA", "LATIN"))
"""Scripts that our recogniser reads well."""
AMOUNT = re.compile(r"[-+]?\d{1,3}(?:[.,]?\d{3})*[.,]\d\d")
CHECKED_LENGTHS = range(9, 35)
"""Characters of numbers with check digits."""


class _Match(NamedTuple):
    """Words of both readings at one place: their indices, from left to right."""

    own: list[int]
    other: list[int]


def merge_recognitions(seen: Page, earlier: TextRuns, size: NDArray[np.float32]) -> Page:
    """Merge the words of an earlier recognition into our own reading of the page.

    earlier: on the page as it was read, of `size` in points.
    """
    if not earlier.texts:
        return seen
    boxes = seen.words.boxes * np.tile(size, 2)
    earlier = _without_shift(seen.words.texts, boxes, earlier)
    own, other = seen.words.texts, earlier.texts
    both = [match for match in _match_words(boxes, earlier.boxes) if match.own and match.other]
    script = _unknown_script(own, other)
    if script is not None or not own:
        taken = {word for word, text in enumerate(other) if script is None or _is_in_script(text, script)}
        chosen = [match for match in both if taken.issuperset(match.other) and not _has_digit(own, match.own)]
        if 2 * sum(len(match.other) for match in chosen) < len(taken):  # ours has found too few of them
            return _complete_earlier(seen, earlier.only(sorted(taken)), size)
    else:
        alike = [match for match in both if _joined(own, match.own) == _joined(other, match.other)]
        repeated = {own[match.own[0]] for match in alike if len(match.own) == len(match.other) == 1}
        chosen = [match for match in both if _is_better(match, seen.words, other, repeated)]
        chosen += _checked_numbers(both, own, other)
    return replace(seen, words=_replace_words(seen.words, earlier, chosen, size)) if chosen else seen


def _unknown_script(own: Sequence[str], other: Sequence[str]) -> str | None:
    """The script of the other reading, if ours is in no language and hardly has that script."""
    scripts = Counter(map(_script, filter(str.isalpha, "".join(other))))
    script, count = max(scripts.items(), key=lambda item: item[1], default=("", 0))
    if count < SCRIPT_SHARE * scripts.total() or script in KNOWN_SCRIPTS:
        return None
    is_read = language_fit(own).score >= UNKNOWN_LANGUAGE or language_fit(other).score < UNKNOWN_LANGUAGE
    return None if is_read else script


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _is_in_script(text: str, script: str) -> bool:
    return script in map(_script, text) and not any(map(str.isdigit, text))


def _has_digit(texts: Sequence[str], words: Sequence[int]) -> bool:
    return any(map(str.isdigit, _joined(texts, words)))


def _complete_earlier(seen: Page, words: TextRuns, size: NDArray[np.float32]) -> Page:
    """The page with these words of the earlier recognition, and our own beside them."""
    own = text_runs.runs_of_words(seen.words, size)
    own = own.only(np.flatnonzero(covered_share(own.boxes, words.boxes) < TOUCHED).tolist())
    share = len(own.texts) / (len(own.texts) + len(words.texts))
    arranged = text_runs.arrange_runs(text_runs.concatenate_runs([words, own]), size)
    return replace(seen, words=arranged, quality=share * seen.quality + (1 - share) * EARLIER)


def _joined(texts: Sequence[str], words: Sequence[int]) -> str:
    return "".join(texts[word] for word in words)


def _without_shift(texts: Sequence[str], boxes: Boxes, earlier: TextRuns) -> TextRuns:
    """The earlier words, moved to where those stand that both readings have once."""
    own, other = Counter(texts), Counter(earlier.texts)
    once = [text for text in own if len(text) >= ANCHOR and own[text] == other[text] == 1]
    if len(once) < FEWEST_ANCHORS:
        return earlier
    here = boxes[[texts.index(text) for text in once]]
    there = earlier.boxes[[earlier.texts.index(text) for text in once]]
    middles = (here[:, :2] + here[:, 2:] - there[:, :2] - there[:, 2:]) / 2
    step = np.tile(np.median(middles, axis=0), 2).astype(np.float32)
    return earlier._replace(boxes=earlier.boxes + step, spans=earlier.spans + step)


def _match_words(own: Boxes, other: Boxes) -> Iterator[_Match]:
    """Groups of words of both readings that overlap; each word is in one group."""
    count = len(own)
    high = _common_extent(own[:, 1::2], other[:, 1::2]) > SAME_ROW
    wide = _common_extent(own[:, 0::2], other[:, 0::2]) > SAME_PLACE
    rows, columns = np.nonzero(high & wide)
    total = count + len(other)
    links = coo_array((np.ones(len(rows)), (rows, columns + count)), shape=(total, total))
    _, labels = connected_components(links, directed=False)
    groups: dict[int, _Match] = {}
    for word, label in enumerate(labels.tolist()):
        group = groups.setdefault(label, _Match([], []))
        (group.own if word < count else group.other).append(word if word < count else word - count)
    for group in groups.values():
        yield _Match(group.own, sorted(group.other, key=lambda word: float(other[word, 0])))


def _common_extent(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Common part of each two ranges, as a share of the shorter one; shapes (n, 2), (m, 2) and (n, m)."""
    common = np.minimum(first[:, None, 1], second[None, :, 1]) - np.maximum(
        first[:, None, 0], second[None, :, 0]
    )
    shorter = np.minimum((first[:, 1] - first[:, 0])[:, None], (second[:, 1] - second[:, 0])[None])
    return np.asarray(common / np.maximum(shorter, 1e-6), np.float32)


def _is_better(match: _Match, own: Words, other: Sequence[str], repeated: Collection[str]) -> bool:
    """True if the other words of a place are preferred to our own.

    They are if they make one amount of pieces, or a word that both read elsewhere of a doubtful one.
    repeated: the words that both read alike.
    """
    ours, theirs = _joined(own.texts, match.own), _joined(other, match.other)
    if len(match.other) > 1 or len(set(own.lines[match.own].tolist())) > 1:
        return False
    if ours == theirs:
        return len(match.own) > 1 and AMOUNT.fullmatch(theirs) is not None
    is_doubtful = own.confidences[match.own].min() < SURE and ours not in repeated
    return is_doubtful and theirs in repeated and sum(map(str.isalpha, theirs)) >= FEWEST_LETTERS


def _checked_numbers(matches: Sequence[_Match], own: Sequence[str], other: Sequence[str]) -> list[_Match]:
    """The places of numbers whose check digits are right only as the earlier program read them."""
    found: list[_Match] = []
    both = sorted(matches, key=lambda match: match.own[0])
    for first, match in enumerate(both):
        if not _has_digit(other, match.other):
            continue
        lengths = accumulate(len(_joined(other, part.other)) for part in both[first:])
        for last, length in enumerate(lengths, first + 1):
            if length >= CHECKED_LENGTHS.stop:
                break
            parts = both[first:last]
            if length in CHECKED_LENGTHS:
                ours, theirs = (
                    _number("".join(_joined(texts, part[side]) for part in parts))
                    for side, texts in enumerate((own, other))
                )
                if (
                    ours != theirs
                    and len(ours) == len(theirs)
                    and _is_checked(theirs)
                    and not _is_checked(ours)
                ):
                    found += [part for part in parts if _joined(own, part.own) != _joined(other, part.other)]
    return found


def _number(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


def _is_checked(number: str) -> bool:
    return number[:2].isalpha() and (iban.is_valid(number) or vat.is_valid(number))


def _replace_words(
    words: Words, earlier: TextRuns, chosen: Sequence[_Match], size: NDArray[np.float32]
) -> Words:
    """The page's words with the earlier ones at the chosen places, each in the line that was there."""
    boxes = np.clip(earlier.boxes / np.tile(size, 2), 0, 1).astype(np.float32)
    firsts = {match.own[0]: match for match in chosen}
    gone = {word for match in chosen for word in match.own}
    texts: list[str] = []
    owners: list[int] = []  # of each word the one of ours whose line it takes
    places: list[NDArray[np.float32]] = []
    confidences: list[float] = []
    for word, text in enumerate(words.texts):
        if word in firsts:
            own, other = firsts[word]
            texts += [earlier.texts[index] for index in other]
            owners += [word] * len(other)
            places += [words.boxes[index] for index in own] if len(own) == len(other) else list(boxes[other])
            confidences += earlier.confidences[other].tolist()
        elif word not in gone:
            texts.append(text)
            owners.append(word)
            places.append(words.boxes[word])
            confidences.append(float(words.confidences[word]))
    return Words(
        texts,
        np.array(places, np.float32),
        np.array(confidences, np.float32),
        words.lines[owners],
        words.blocks[owners],
    )
