"""Roles of words from the values that a paper is known to have: these are searched for on its page.

The search is that of evidence (`docmill.understanding.locate`). Where a value stands in several places and it
cannot be told which of them is meant, the words of the others have no role. If a value that the paper has is
not found, it was misread or is cut off: then words that look like it have no role either.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.result import Schema
from docmill.schemas.document_types import known_type
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.locate.evidence import located
from docmill.understanding.locate.searched_pages import Occurrence, SearchedPages
from docmill.understanding.locate.values import find_value
from docmill.understanding.page.layout import Segment
from docmill.understanding.page_model.seen import LABEL, NONE
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts

Value = str | date | Decimal
_LEAST_TRUST = 0.6
_GIVEN = 4.0
"""Score of a label that is known to stand beside the value."""
_REPEATED_LETTERS = 8
"""Letters of a name from which on another place where it stands is the name again."""
_LEAST_LIKENESS = 80.0
"""Likeness, in percent, of a stretch of words to a long text that was misread."""
_SHORTEST_LIKE, _LONGEST_STRETCH = 8, 40
_LONGEST_LABEL = 6
"""Words of a text that may be a label in words that nobody knows."""
_FAINT = 1.0
"""Score of a label that stands near the field, and does not name it."""
_HEAD = 0.25
"""Share of a page in which a name or an address that was not found may be."""
_ITEM_ROLES = {
    "description": "items.description",
    "quantity": "items.quantity",
    "unit": "items.unit",
    "unit_price": "items.unit_price",
    "net_amount": "items.amount",
}
_DIGITS = re.compile(r"\d")
_GLUED_LABEL = re.compile(r"[^\W\d_]{2,}\.?[:#]")
_WEB = re.compile(r"www\.|@|\.[a-z]{2,3}$", re.IGNORECASE)
_CLOCK = re.compile(r"\S*\d\S?[:.h]\S?\d\d\S*")
_CODE = re.compile(r"(?!\S*\d[.,]\d\d(?:\s|$))\S*\d\S?\d\S*")


class KnownValue(NamedTuple):
    """A field that the paper has.

    values: accepted ones, the most typical first. labels: words printed beside it. printed: other texts by
    which the value may be printed.
    """

    path: str
    values: tuple[Value, ...]
    labels: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()


@dataclass
class WordRoles:
    """The roles of the words of a page. found: the paths that have a place on it."""

    roles: list[str | None]
    goes_on: list[bool]
    found: set[str] = field(default_factory=set[str])

    def known(self, absent: Sequence[str] = ()) -> tuple[str, ...]:
        """The roles with which all words were labelled. absent: fields that the paper does not have."""
        return tuple(sorted({*self.found, *(LABEL + path for path in self.found), *absent}))


def label_words(
    document: Document,
    truth: Sequence[KnownValue],
    *,
    items: Sequence[Mapping[str, Value]] = (),
    document_type: str = "receipt",
) -> list[WordRoles]:
    """Label the words of each page of a document.

    truth: the fields that it has. items: the values of its line items, by the fields of `Line`; all of them,
    or none where nobody has said. document_type: of whose fields the labels are known.
    """
    schema = replace(
        REGISTRY[document_type], labels={each.path: each.labels for each in truth if each.labels}
    )
    pages: list[_Labelling] = []
    for page in document.pages:
        alone = replace(document, pages=[page])
        labelling = _Labelling(alone, document_type)
        if page.words.texts:
            chosen = _chosen_boxes(alone, truth, items, schema)
            for known in sorted(truth, key=_order):
                rivals = [
                    other
                    for other in truth
                    if other.path != known.path and other.values[0] == known.values[0]
                ]
                labelling.place(known, chosen.get(known.path), rivals)
            labelling.place_items(chosen)
        pages.append(labelling)
    found = {path for labelling in pages for path in labelling.found}
    seen = {path for labelling in pages for path in labelling.seen}
    for labelling in pages:
        for known in truth:
            if known.path not in seen and known.path != "currency":
                labelling.doubt_like(known)
    return [WordRoles(labelling.roles, labelling.goes_on, found) for labelling in pages]


def _order(known: KnownValue) -> tuple[bool, bool, int]:
    """Long texts are placed first, since a short one may be a part of them; currencies last."""
    first = known.values[0]
    longest = max(len(str(value)) for value in known.values)
    return known.path == "currency", not isinstance(first, str), -longest


def _chosen_boxes(
    document: Document, truth: Sequence[KnownValue], items: Sequence[Mapping[str, Value]], schema: Schema
) -> dict[str, Box]:
    """The box of each value that evidence would be shown in, among all places where it stands."""
    data: dict[str, Any] = {"lines": list(items)} if items else {}
    for known in truth:
        owner, _, leaf = known.path.rpartition(".")
        (data.setdefault(owner, {}) if owner else data)[leaf] = known.values[0]
    return {
        path: evidence.box
        for path, evidence in located(document, data, schema).items()
        if evidence.box is not None
    }


class _NearLabel(NamedTuple):
    """Words that label a place for a field, and how strongly."""

    score: float
    words: list[int]


class _Labelling:
    """The words of one page, and what is known of them so far.

    found: the paths that have words; seen: those whose value stands there, though perhaps as that of another
    field, such as a total that is also the amount due.
    """

    def __init__(self, document: Document, document_type: str) -> None:
        self.page = document.pages[0]
        self.words = self.page.words
        self.searched = SearchedPages(document)
        self.document_type = document_type
        self.roles: list[str | None] = [NONE] * len(self.words)
        self.goes_on = [False] * len(self.words)
        self.found: set[str] = set()
        self.seen: set[str] = set()

    def place(self, known: KnownValue, chosen: Box | None, rivals: Sequence[KnownValue]) -> None:
        """Give the role to the words of the value, and no role to those that may be it.

        rivals: fields with the same value, so that the label of a place says whose it is.
        """
        places = list(self._places(known))
        if not places and known.path.rpartition(".")[2] in {"name", "address"}:
            places = list(self._alike(known))
        if not places:
            return
        self.seen.add(known.path)
        main = _nearest(places, chosen, self.words.boxes)
        if isinstance(known.values[0], Decimal):
            again = self._labelled_places(known, places, rivals)
            if main not in again and (again or rivals):
                main = again[-1] if again else None
        else:
            again = [place for place in places if self._is_again(known, place)]
        for place in places:
            if any(self.roles[index] not in {NONE, None} for index in place):
                continue
            if place is main or place in again:
                self._give(known.path, place)
            else:
                self._take_roles_off(place)
        for place in {*again, main} if isinstance(known.values[0], Decimal) else {main}:
            if place is not None and self.roles[place[0]] == known.path:
                self._mark_label(known, place)

    def _labelled_places(
        self, known: KnownValue, places: Sequence[tuple[int, ...]], rivals: Sequence[KnownValue]
    ) -> list[tuple[int, ...]]:
        """The places of an amount that a label on their line gives to this field, and not to a rival."""
        return [
            place
            for place in places
            if self._label(known, place, only_left=True).score
            > max((self._label(rival, place, only_left=True).score for rival in rivals), default=0.0)
        ]

    def place_items(self, chosen: Mapping[str, Box]) -> None:
        """Give the roles of items to the words in the boxes of their values."""
        middles = self.words.boxes.reshape(-1, 2, 2).mean(axis=1)
        for path, box in chosen.items():
            role = _ITEM_ROLES.get(path.rpartition(".")[2])
            if role is None or not path.startswith("lines["):
                continue
            is_inside = (middles >= box[:2]).all(axis=1) & (middles <= box[2:]).all(axis=1)
            self._give(role, np.flatnonzero(is_inside).tolist())

    def _places(self, known: KnownValue) -> Iterator[tuple[int, ...]]:
        """The words of each place where one of the values stands, longest values first."""
        taken: set[int] = set()
        texts = self.words.texts
        for value in sorted((*known.values, *known.printed), key=lambda value: -len(str(value))):
            for place in find_value(self.searched, value):
                words = _words_of(place)
                if place.trust < _LEAST_TRUST or place.form != "value" or taken & set(words):
                    continue
                self.seen.add(known.path)
                is_number = any(_DIGITS.search(texts[word]) for word in words)
                if (known.path == "currency" and is_number) or (
                    isinstance(value, Decimal) and any("%" in texts[word] for word in words)
                ):
                    continue  # an amount with its currency, or a rate
                is_doubtful = isinstance(value, str) and place.is_plain and known.path != "currency"
                if is_doubtful and self._label(known, words).score <= 0:
                    self._take_roles_off(words)
                    continue
                taken |= set(words)
                yield words

    def _give(self, role: str, words: Iterable[int]) -> bool:
        """Give a role to those of the words that have none. Returns whether there were any."""
        free = [index for index in words if self.roles[index] in {NONE, None}]
        for index in free:
            self.roles[index], self.goes_on[index] = role, index != free[0]
        if free and not role.startswith(LABEL):
            self.found.add(role)
        return bool(free)

    def _take_roles_off(self, words: Iterable[int]) -> None:
        for index in words:
            if self.roles[index] == NONE:
                self.roles[index] = None

    def _alike(self, known: KnownValue) -> Iterator[tuple[int, ...]]:
        """The stretch of words most like a long text that was misread; none if nothing is near."""
        letters = [letters_and_digits(text) for text in self.words.texts]
        best: tuple[float, tuple[int, ...]] = (_LEAST_LIKENESS, ())
        for value in map(str, known.values):
            wanted = letters_and_digits(value)
            if len(wanted) < _SHORTEST_LIKE:
                continue
            for start in range(len(letters)):
                text = ""
                for stop in range(start + 1, min(len(letters), start + _LONGEST_STRETCH) + 1):
                    text += letters[stop - 1]
                    if len(text) > 1.3 * len(wanted):
                        break
                    if len(text) >= 0.7 * len(wanted):
                        likeness = fuzz.ratio(text, wanted, score_cutoff=best[0])
                        if likeness > best[0]:
                            best = likeness, tuple(range(start, stop))
        if best[1]:
            yield best[1]

    def _is_again(self, known: KnownValue, place: tuple[int, ...]) -> bool:
        """True if this is certainly the field again: times, addresses, long names, days of receipts."""
        leaf = known.path.rpartition(".")[2]
        if leaf in {"time", "currency", "address"}:
            return True
        if isinstance(known.values[0], date):
            return self.document_type == "receipt" or self._label(known, place, only_left=True).score > 0
        text = " ".join(self.words.texts[index] for index in place)
        return len(letters_and_digits(text)) >= _REPEATED_LETTERS and not _WEB.search(text)

    def _mark_label(self, known: KnownValue, place: tuple[int, ...]) -> None:
        """Mark the words that label the value; a text in their place that nobody knows has no role."""
        label = self._label(known, place).words
        if self._give(LABEL + known.path, label):
            if label[-1] < place[0] <= label[-1] + _LONGEST_LABEL:
                self._take_roles_off(range(label[-1] + 1, place[0]))
            return
        for segment, stop in self._texts_before(place)[1:]:
            text = " ".join(self.words.texts[segment.start : stop])
            if stop - segment.start <= _LONGEST_LABEL and not _DIGITS.search(text):
                self._take_roles_off(range(segment.start, stop))
                return

    def _texts_before(self, place: tuple[int, ...], *, only_left: bool = False) -> list[tuple[Segment, int]]:
        """Segments with their last word (exclusive): up to the value, left of it, and above it."""
        sheet = self.searched.sheets[0]
        own = next(each for each in sheet.segments if each.start <= place[0] < each.stop)
        above = [] if only_left else sheet.above(self.words.box(place[0], place[0] + 1))[:1]
        others = [*sheet.left_of(own)[:2], *above]
        return [(own, place[0]), *((segment, segment.stop) for segment in others)]

    def _label(self, known: KnownValue, place: tuple[int, ...], *, only_left: bool = False) -> _NearLabel:
        """The nearest label of the field before the value; one without words if there is none."""
        if not isinstance(known.values[0], Decimal) and _GLUED_LABEL.match(self.words.texts[place[0]]):
            return _NearLabel(0.0, [])
        meaning = built_in_meaning(known.path, known_type(self.document_type))
        given = {letters_and_digits(label) for label in known.labels}
        for segment, stop in self._texts_before(place, only_left=only_left):
            text = " ".join(self.words.texts[segment.start : stop])
            score = 0.0
            spans: list[tuple[int, int]] = []
            for label in self.searched.candidates.labels_of(text):
                strength = meaning.score(dict.fromkeys(label.meanings, 1.0))
                score += strength
                if strength > _FAINT:
                    spans.append((label.start, label.stop))
            if letters_and_digits(text) in given:
                score += _GIVEN
                spans.append((0, len(text)))
            if spans and score > 0:
                words = [_words_within(self.words.texts, segment.start, stop, span) for span in spans]
                return _NearLabel(score, sorted({index for each in words for index in each}))
        return _NearLabel(0.0, [])

    def doubt_like(self, known: KnownValue) -> None:
        """Take the roles off the words that may be a value that was not found."""
        self._take_roles_off(self._suspects(known.values[0], known.path))

    def _suspects(self, value: Value, path: str) -> Iterator[int]:
        """The words that may be a misread value of this form."""
        leaf = path.rpartition(".")[2]
        if leaf in {"name", "address"}:
            middles = (self.words.boxes[:, 1] + self.words.boxes[:, 3]) / 2
            yield from np.flatnonzero(middles < _HEAD).tolist()
            return
        for segment in self.searched.sheets[0].segments if self.searched.sheets else ():
            if isinstance(value, date):
                spans = [(each.start, each.stop) for each in find_dates(segment.text)]
            elif isinstance(value, Decimal):
                spans = [(each.start, each.stop) for each in find_amounts(segment.text, misread=True)]
            else:
                form = _CLOCK if leaf == "time" else _CODE
                spans = [match.span() for match in form.finditer(segment.text)]
            for span in spans:
                yield from _words_within(self.words.texts, segment.start, segment.stop, span)


def _words_of(place: Occurrence) -> tuple[int, ...]:
    """The page's words that an occurrence takes."""
    words: list[int] = []
    for span in place.spans:
        words.extend(range(*span.segment.words(span.start, span.stop)))
    return tuple(dict.fromkeys(words))


def _words_within(texts: Sequence[str], start: int, stop: int, span: tuple[int, int]) -> list[int]:
    """The words `start` to `stop` (exclusive) that have characters of the span of their joined text."""
    found: list[int] = []
    at = 0
    for index in range(start, stop):
        if at < span[1] and at + len(texts[index]) > span[0]:
            found.append(index)
        at += len(texts[index]) + 1
    return found


def _nearest(
    places: Sequence[tuple[int, ...]], chosen: Box | None, boxes: NDArray[np.float32]
) -> tuple[int, ...] | None:
    """The place in the chosen box; the first one where none was chosen."""
    if chosen is None or not places:
        return places[0] if places else None
    wanted = np.array(chosen, np.float32).reshape(2, 2).mean(axis=0)

    def distance(place: tuple[int, ...]) -> float:
        middle = boxes[list(place)].reshape(-1, 2, 2).mean(axis=(0, 1))
        return float(np.abs(middle - wanted).sum())

    return min(places, key=distance)
