"""Runs of lines that could be a name or an address, trimmed at their ends, as rows of features."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.page.layout import Span
from docmill.understanding.receipts.head import FEATURES, LABEL_FEATURES, TEXT_FEATURES, Head, text_features
from docmill.understanding.text.folding import alternatives
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.vocabulary import LANGUAGES, Concept

Field = Literal["name", "address"]
ROLES: Mapping[Field, str] = {"name": "seller.name", "address": "seller.address"}
"""The path of each field, by which the page model calls its words."""
_LONGEST = {"name": 5, "address": 9}
"""Segments of a span."""
_SHORTEST = 2
"""Characters of the shortest last line: one letter is no name."""
_SHORTEST_REPEATED = 6
"""Letters of the shortest span whose repetition means something; shorter ones repeat by chance."""
_LEAST_FIRST, _LEAST_LAST = 0.01, 0.003
"""Probabilities below which no span begins or goes on with a line, unless it is among the best."""
_BEST_FIRST, _BEST_LAST = 4, 7
_CLIP = 1e-4
_LEAST_SEEN = 1e-4
"""Least distance of a word's probability from 0 and 1."""
_OWNERS = alternatives(phrase for language in LANGUAGES for phrase in (*language.owners, *language.greetings))
_ADDRESS_HEADS = alternatives(phrase for language in LANGUAGES for phrase in language.address.heads)
_ADDRESS_TAILS = (
    alternatives(phrase for language in LANGUAGES for phrase in language.address.tails)
    .replace("e", "[e3]")
    .replace("l", "[l1i|]")
)
"""With the digits that recognition takes for letters."""
_REGISTRATION_WORDS = {
    phrase.split()[0]
    for language in LANGUAGES
    for phrase in (*language.labels.get(Concept.REGISTRATION_NUMBER, ()), *language.glued)
} - {"#"}
_HEADS = {
    "name": re.compile(
        rf"^(?:.*\b(?:{_OWNERS})\s*[:.]?|#?\d{{4,}}|m/s|\W+)\s*(?=\S)",
        re.IGNORECASE,
    ),
    "address": re.compile(rf"^(?:{_ADDRESS_HEADS})\s*[:.]\s*(?=\S)", re.IGNORECASE),
}
_TAILS = {
    "name": (
        re.compile(
            rf"\s*[(\[{{]\s*(?:{alternatives(_REGISTRATION_WORDS)}|\d|[a-z]{{2}}\d).*$", re.IGNORECASE
        ),
        re.compile(r"\s*[(\[{]?\s*\d{4,12}\s*[-\u2013]?\s*[a-z0-9]{0,2}\s*[)\]}]*\W*$", re.IGNORECASE),
        re.compile(r"\s*\([^()]*\)?\s*$"),
    ),
    "address": (
        re.compile(rf"\s*\b(?:{_ADDRESS_TAILS})\b.*$|\s*(?:{_ADDRESS_TAILS})\s*[:.].*$", re.IGNORECASE),
    ),
}
_NEIGHBOUR_FEATURES = [FEATURES.index(name) for name in (
    "height", "off_centre", "gap_above", "gap_below", "beside_last", "beside_next", "label", "date",
    "amount", "concept0", "concept1", "concept2", "concept4", "concept6", "length", "letters", "digits",
    "commas", "firms", "streets", "regions", "legal", "postcode", "house", "phone", "registration",
    "ends_comma", "conjunction",
)]  # fmt: skip
_LABELS = [FEATURES.index(name) for name in LABEL_FEATURES]
_LINE, _HEIGHT, _OFF_CENTRE, _CONFIDENCE, _GAP_BELOW, _BESIDE_NEXT = (
    FEATURES.index(name)
    for name in ("line", "height", "off_centre", "confidence", "gap_below", "beside_next")
)


class Piece(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a line; `variant` numbers the ways of trimming it."""

    start: int
    stop: int
    variant: int


class Choice(NamedTuple):
    """Lines `first` to `stop` (exclusive) of a head, trimmed at both ends."""

    first: int
    stop: int
    begin: Piece
    end: Piece


@dataclass(frozen=True)
class Choices:
    """All spans of a head for one field."""

    head: Head
    field: Field
    choices: Sequence[Choice]

    def spans(self, index: int) -> tuple[Span, ...]:
        """The characters of a choice on the page."""
        choice = self.choices[index]
        last = choice.stop - 1
        return tuple(
            Span(
                segment,
                choice.begin.start if at == choice.first else 0,
                choice.end.stop if at == last else len(segment.text),
            )
            for at, segment in enumerate(self.head.segments[choice.first : choice.stop], choice.first)
        )

    def text(self, index: int) -> str:
        """The text of a choice, as read."""
        return " ".join(span.text for span in self.spans(index))

    @cached_property
    def _untagged_rows(self) -> NDArray[np.float32]:
        """Features of every span that need no tags: of its own lines and of those before and after."""
        head = self.head
        places = [self.spans(index) for index in range(len(self.choices))]
        shape = np.array(list(_shape_features(head, self.choices, places)), np.float32)
        begins = np.array([text_features(place[0].text) for place in places])
        ends = np.array([text_features(place[-1].text) for place in places])
        first = np.array([choice.first for choice in self.choices])
        last = np.array([choice.stop for choice in self.choices]) - 1
        of_texts = head.features[:, -len(TEXT_FEATURES) :]
        is_single = (first == last)[:, None]
        sums = np.vstack([np.zeros((1, len(TEXT_FEATURES)), np.float32), np.cumsum(of_texts, axis=0)])
        middle = np.where(is_single, 0, sums[np.maximum(last, first + 1)] - sums[first + 1])
        whole = np.where(is_single, ends, begins + middle + ends)
        cut = of_texts[last] - ends
        padded = np.vstack([head.features, np.full((1, len(FEATURES)), -1, np.float32)])
        count = len(head.segments)
        before = padded[np.where(first > 0, first - 1, count)][:, _NEIGHBOUR_FEATURES]
        after = padded[np.where(last + 1 < count, last + 1, count)][:, _NEIGHBOUR_FEATURES]
        return np.hstack([shape, whole, begins, ends, cut, before, after, self._seen(places)]).astype(
            np.float32
        )

    def _seen(self, places: Sequence[Sequence[Span]]) -> NDArray[np.float32]:
        """For every span, how likely the page model finds it that the text begins and ends here."""
        reading = self.head.reading
        ends = [
            (place[0].segment.words(place[0].start, place[0].stop)[0],
             place[-1].segment.words(place[-1].start, place[-1].stop)[1])
            for place in places
        ]  # fmt: skip
        start, stop = np.array(ends, np.intp).reshape(-1, 2).T
        shares = reading.of_role(ROLES[self.field]).astype(np.float64).clip(_LEAST_SEEN, 1 - _LEAST_SEEN)
        rivals = reading.of_role(ROLES["address" if self.field == "name" else "name"])
        goes_on, padded = np.append(reading.goes_on, 0), np.append(shares, 0)
        listed: list[float] = shares.tolist()
        following: list[float] = goes_on.tolist()
        yes, no = np.log(shares), np.log(1 - shares)
        sums = {
            name: np.append(0, np.cumsum(column))
            for name, column in (("yes", yes), ("gain", yes - no), ("share", shares), ("rival", rivals))
        }
        inside = {name: column[stop] - column[start] for name, column in sums.items()}
        length = stop - start
        return np.stack(
            [
                inside["gain"] + no.sum(),
                inside["yes"] / length,
                [min(listed[begin:end]) for begin, end in ends],
                shares[start],
                shares[stop - 1],
                padded[start - 1],  # the last one, which is 0, before the first word
                padded[stop],
                goes_on[start],
                [min([1.0, *following[begin + 1 : end]]) for begin, end in ends],
                goes_on[stop],
                inside["share"] / shares.sum(),
                inside["rival"] / length,
            ],
            axis=1,
        ).astype(np.float32)

    def rows(self, tags: NDArray[np.float64]) -> NDArray[np.float32]:
        """The features of every span. tags: the probabilities of each line's tags."""
        shares, rival_shares = (tags[:, 1], tags[:, 2]) if self.field == "name" else (tags[:, 2], tags[:, 1])
        first = np.array([choice.first for choice in self.choices])
        stop = np.array([choice.stop for choice in self.choices])
        count = len(shares)
        yes, no = np.log(np.clip(shares, _CLIP, 1)), np.log(np.clip(1 - shares, _CLIP, 1))
        gain = np.concatenate([[0], np.cumsum(yes - no)])
        sums = np.concatenate([[0], np.cumsum(shares)])
        padded, rivals = np.concatenate([shares, [-1, -1, -1]]), np.concatenate([rival_shares, [-1, -1, -1]])
        lines = [slice(choice.first, choice.stop) for choice in self.choices]
        own: list[float] = shares.tolist()
        others: list[float] = rival_shares.tolist()
        rank = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
        before = np.where(first > 0, first - 1, count)
        by_tags = (  # inside a span, at its ends, just outside, and of its rival
            gain[stop] - gain[first] + no.sum(),
            np.array([min(own[line]) for line in lines]),
            (sums[stop] - sums[first]) / (stop - first),
            shares[first],
            shares[stop - 1],
            padded[before],
            padded[np.where(first > 1, first - 2, count)],
            padded[stop],
            padded[np.minimum(stop + 1, count)],
            np.array([max(others[line]) for line in lines]),
            rivals[before],
            rivals[stop],
            np.full(len(first), shares.sum()),
            np.full(len(first), shares.max()),
            sums[-1] - (sums[stop] - sums[first]),
            rank[first],
        )
        return np.hstack([self._untagged_rows, np.stack(by_tags, axis=1)]).astype(np.float32)


def enumerate_spans(head: Head, field: Field, tags: NDArray[np.float64] | None = None) -> Choices:
    """Every span, or with `tags` only those that the tags of their lines allow."""
    count = len(head.segments)
    trims = [_trims(text, field) for text in head.texts]
    may_begin, may_go_on = _allowed_lines(head, field, tags)
    choices: list[Choice] = []
    for first in range(count):
        if not may_begin[first] or head.joined[first - 1 : first].any():
            continue
        for stop in range(first + 1, min(count, first + _LONGEST[field]) + 1):
            if stop - 1 > first and not may_go_on[stop - 1]:
                break
            if head.joined[stop - 1]:
                continue
            choices.extend(
                Choice(first, stop, begin, end)
                for begin in trims[first][0]
                for end in trims[stop - 1][1]
                if stop - first > 1 or begin.start < end.stop
            )
    return Choices(head, field, choices)


def pruning_mask(choices: Choices, tags: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the spans that the tags of their lines allow."""
    may_begin, may_go_on = _allowed_lines(choices.head, choices.field, tags)
    return np.array(
        [
            may_begin[choice.first] and may_go_on[choice.first + 1 : choice.stop].all()
            for choice in choices.choices
        ],
        np.bool_,
    )


def _trims(text: str, field: Field) -> tuple[list[Piece], list[Piece]]:
    """The places where a span may start on its first line, and end on its last line."""
    begins, ends = [Piece(0, len(text), 0)], [Piece(0, len(text), 0)]
    match = _HEADS[field].match(text)
    if match and match.end() < len(text):
        begins.append(Piece(match.end(), len(text), 1))
    matches = [pattern.search(text) for pattern in _TAILS[field]]
    cuts = [(variant, match.start()) for variant, match in enumerate(matches, 1) if match]
    if field == "name" and (legal_end := legal_form_end(text)):
        cuts.append((len(matches) + 1, legal_end))
    for variant, cut in cuts:
        stop = len(text[:cut].rstrip())
        if stop >= _SHORTEST and all(stop != piece.stop for piece in ends):
            ends.append(Piece(0, stop, variant))
    return begins, ends


def _allowed_lines(
    head: Head, field: Field, tags: NDArray[np.float64] | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the lines on which a span may start, and of those on which it may continue."""
    if tags is None:
        every = np.ones(len(head.segments), np.bool_)
        return every, every
    shares = tags[:, 1 if field == "name" else 2].copy()
    for at in np.flatnonzero(head.joined):
        shares[at + 1] = max(shares[at : at + 2])
    for at in np.flatnonzero(head.joined)[::-1]:
        shares[at] = max(shares[at : at + 2])
    rank = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
    return (shares >= _LEAST_FIRST) | (rank < _BEST_FIRST), (shares >= _LEAST_LAST) | (rank < _BEST_LAST)


def _shape_features(
    head: Head, choices: Sequence[Choice], places: Sequence[Sequence[Span]]
) -> Iterator[list[float]]:
    """Yield features of each choice's lines, and of the letters at its place."""
    rows: list[list[float]] = head.features.tolist()

    @cache
    def of_lines(first: int, stop: int) -> tuple[list[float], list[float]]:
        lines = rows[first:stop]
        heights, gaps = [line[_HEIGHT] for line in lines], [line[_GAP_BELOW] for line in lines[:-1]]
        return [
            lines[0][_LINE],
            max(gaps, default=-1),
            heights[0],
            heights[-1],
            min(heights) / max(*heights, 1e-6),
            max(line[_OFF_CENTRE] for line in lines),
            min(line[_CONFIDENCE] for line in lines),
            sum(line[_BESIDE_NEXT] for line in lines[:-1]),
        ], [max(line[label] for line in lines) for label in _LABELS]

    for choice, place in zip(choices, places, strict=True):
        shape, labels = of_lines(choice.first, choice.stop)
        key = "".join(letters_and_digits(span.text) for span in place)
        yield [
            choice.first,
            choice.stop - choice.first,
            choice.begin.variant,
            choice.end.variant,
            *shape,
            len(key),
            head.letters.count(key) if len(key) >= _SHORTEST_REPEATED else 0,
            *labels,
        ]
