"""Runs of lines that could be a name or an address, trimmed at their ends, as rows of numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_features import legal_form_end
from docmill.understanding.page.layout import Span
from docmill.understanding.receipts.head import LOOKS, OWN, Head, look

Field = Literal["name", "address"]
LONGEST = {"name": 5, "address": 9}
"""Stretches of text a span may take."""
_LEAST_FIRST, _LEAST_LAST = 0.01, 0.003
"""Shares of belief below which no span begins or ends with a line, unless it is among the best."""
_BEST_FIRST, _BEST_LAST = 4, 7
_CLIP = 1e-4
_GREETING = re.compile(
    r"^(?:.*\b(?:operated by|owned? by|managed by|trading as|shopping at|welcome to|dimiliki(?: oleh)?|"
    r"willkommen bei|bienvenue (?:chez|a)|from|name)\s*[:.]?|#?\d{4,}|m/s|\W+)\s*(?=\S)",
    re.IGNORECASE,
)
_TAILS = (
    re.compile(r"\s*[(\[{]\s*(?:co\.?|reg|roc|no|\d|[a-z]{2}\d).*$", re.IGNORECASE),
    re.compile(r"\s*[(\[{]?\s*\d{4,12}\s*[-\u2013]?\s*[a-z0-9]{0,2}\s*[)\]}]*\W*$", re.IGNORECASE),
    re.compile(r"\s*\([^()]*\)?\s*$"),
)
_ADDRESS_HEAD = re.compile(
    r"^(?:hq\s*)?(?:address|addr?|alamat|adresse|office|hq|branch)\s*[:.]\s*(?=\S)", re.IGNORECASE
)
_ADDRESS_TAIL = re.compile(
    r"\s*\b(?:t[e3][l1i|]|phone|fax|h/?p|gst|co\.? ?reg|hotline|e-?mail)\b.*$|\s*t[e3][l1i|]\s*[:.].*$",
    re.IGNORECASE,
)


class Piece(NamedTuple):
    """Characters `start` to `stop` (exclusive) of a line, by the `variant`-th way to trim it."""

    start: int
    stop: int
    variant: int


class Choice(NamedTuple):
    """Lines `first` to `stop` (exclusive) of a head, trimmed at both ends."""

    first: int
    stop: int
    begin: Piece
    end: Piece


def heads(text: str, field: Field) -> list[Piece]:
    """The positions in its first line at which a span may begin."""
    match = (_GREETING if field == "name" else _ADDRESS_HEAD).match(text)
    found = [Piece(0, len(text), 0)]
    if match and match.end() < len(text):
        found.append(Piece(match.end(), len(text), 1))
    return found


def tails(text: str, field: Field) -> list[Piece]:
    """The positions in its last line at which a span may end."""
    cuts = _name_cuts(text) if field == "name" else _address_cuts(text)
    found = [Piece(0, len(text), 0)]
    for variant, cut in cuts:
        stop = len(text[:cut].rstrip())
        if stop >= 2 and all(stop != piece.stop for piece in found):  # noqa: PLR2004 - a letter is no name
            found.append(Piece(0, stop, variant))
    return found


def _name_cuts(text: str) -> Iterator[tuple[int, int]]:
    for variant, pattern in enumerate(_TAILS, 1):
        match = pattern.search(text)
        if match:
            yield variant, match.start()
    legal = legal_form_end(text)
    if legal:
        yield 4, legal


def _address_cuts(text: str) -> Iterator[tuple[int, int]]:
    match = _ADDRESS_TAIL.search(text)
    if match:
        yield 1, match.start()


@dataclass(frozen=True)
class Choices:
    """All spans of a head for one field. fixed: what needs no tags, a row for each."""

    field: Field
    choices: Sequence[Choice]
    fixed: NDArray[np.float32]

    def text(self, head: Head, index: int) -> str:
        """Of a span, as read."""
        return " ".join(span.text for span in spans(head, self.choices[index]))

    def rows(self, shares: NDArray[np.float64]) -> NDArray[np.float32]:
        """The features of every span. shares: of each line, by tag."""
        own, rival = (shares[:, 1], shares[:, 2]) if self.field == "name" else (shares[:, 2], shares[:, 1])
        first = np.array([choice.first for choice in self.choices])
        stop = np.array([choice.stop for choice in self.choices])
        return np.hstack([self.fixed, _belief(own, rival, first, stop)]).astype(np.float32)


def spans(head: Head, choice: Choice) -> tuple[Span, ...]:
    """The places of a choice."""
    found: list[Span] = []
    for at in range(choice.first, choice.stop):
        segment = head.segments[at]
        start = choice.begin.start if at == choice.first else 0
        end = choice.end.stop if at == choice.stop - 1 else len(segment.text)
        found.append(Span(segment, start, end))
    return tuple(found)


def enumerated(head: Head, field: Field, shares: NDArray[np.float64] | None = None) -> Choices:
    """Every span, or only those the tags do not rule out."""
    count = len(head.segments)
    begins = [heads(text, field) for text in head.texts]
    ends = [tails(text, field) for text in head.texts]
    may_begin, may_end = _allowed(shares, head, field)
    choices: list[Choice] = []
    for first in range(count):
        if not may_begin[first] or head.joined[first - 1 : first].any():
            continue
        for stop in range(first + 1, min(count, first + LONGEST[field]) + 1):
            if stop - 1 > first and not may_end[stop - 1]:
                break
            if head.joined[stop - 1]:
                continue
            choices.extend(
                Choice(first, stop, begin, end)
                for begin in begins[first]
                for end in ends[stop - 1]
                if stop - first > 1 or begin.start < end.stop
            )
    return Choices(field, choices, _fixed(head, choices))


def kept(head: Head, choices: Choices, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the spans that survive pruning by the tags of their lines."""
    may_begin, may_end = _allowed(shares, head, choices.field)
    return np.array(
        [
            may_begin[choice.first] and all(may_end[at] for at in range(choice.first + 1, choice.stop))
            for choice in choices.choices
        ],
        np.bool_,
    )


def _allowed(
    shares: NDArray[np.float64] | None, head: Head, field: Field
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if shares is None:
        every = np.ones(len(head.segments), np.bool_)
        return every, every
    own = shares[:, 1 if field == "name" else 2].copy()
    for at in np.flatnonzero(head.joined):
        own[at + 1] = max(own[at : at + 2])
    for at in np.flatnonzero(head.joined)[::-1]:
        own[at] = max(own[at : at + 2])
    rank = np.argsort(np.argsort(-own, kind="stable"), kind="stable")
    return (own >= _LEAST_FIRST) | (rank < _BEST_FIRST), (own >= _LEAST_LAST) | (rank < _BEST_LAST)


_NEAR = [OWN.index(name) for name in (
    "height", "off_centre", "gap_above", "gap_below", "beside_last", "beside_next", "label", "date", "amount",
    "says0", "says1", "says2", "says4", "says6", "length", "letters", "digits", "commas", "firms", "streets",
    "regions", "legal", "postcode", "house", "phone", "registration", "ends_comma", "conjunction",
)]  # fmt: skip
_INSIDE = [OWN.index(name) for name in ("label", "date", "amount", *(f"says{index}" for index in range(9)))]
_HEIGHT, _OFF, _CONFIDENCE, _GAP_BELOW, _BESIDE = (
    OWN.index(name) for name in ("height", "off_centre", "confidence", "gap_below", "beside_next")
)


def _fixed(head: Head, choices: Sequence[Choice]) -> NDArray[np.float32]:
    """Features of a span by itself and by what stands before and after it."""
    if not choices:
        return np.zeros((0, 0), np.float32)
    first = np.array([choice.first for choice in choices])
    last = np.array([choice.stop for choice in choices]) - 1
    begins = np.array([look(_begun(head, choice)) for choice in choices])
    ends = np.array([look(_ended(head, choice)) for choice in choices])
    looks = head.own[:, -len(LOOKS) :]
    single = (first == last)[:, None]
    sums = np.vstack([np.zeros((1, len(LOOKS)), np.float32), np.cumsum(looks, axis=0)])
    middle = np.where(single, 0, sums[np.maximum(last, first + 1)] - sums[first + 1])
    whole = np.where(single, ends, begins + middle + ends)
    cut = looks[last] - ends
    around = np.vstack([head.own, np.full((1, len(OWN)), -1, np.float32)])
    count = len(head.segments)
    before = around[np.where(first > 0, first - 1, count)][:, _NEAR]
    after = around[np.where(last + 1 < count, last + 1, count)][:, _NEAR]
    shape = np.array([_shape(head, choice) for choice in choices], np.float32)
    return np.hstack([shape, whole, begins, ends, cut, before, after]).astype(np.float32)


def _begun(head: Head, choice: Choice) -> str:
    text = head.segments[choice.first].text
    return text[choice.begin.start : choice.end.stop if choice.stop - choice.first == 1 else len(text)]


def _ended(head: Head, choice: Choice) -> str:
    text = head.segments[choice.stop - 1].text
    return text[choice.begin.start if choice.stop - choice.first == 1 else 0 : choice.end.stop]


def _shape(head: Head, choice: Choice) -> list[float]:
    first, stop = choice.first, choice.stop
    own = head.own[first:stop]
    heights = own[:, _HEIGHT]
    gaps = own[:-1, _GAP_BELOW]
    key = "".join(letters_and_digits(span.text) for span in spans(head, choice))
    return [
        first,
        stop - first,
        choice.begin.variant,
        choice.end.variant,
        own[0, 2],
        gaps.max() if len(gaps) else -1,
        heights[0],
        heights[-1],
        heights.min() / max(heights.max(), 1e-6),
        own[:, _OFF].max(),
        own[:, _CONFIDENCE].min(),
        own[:-1, _BESIDE].sum(),
        len(key),
        head.text.replace("\n", "").count(key) if len(key) > 5 else 0,  # noqa: PLR2004 - short ones repeat by chance
        *own[:, _INSIDE].max(axis=0),
    ]


def _belief(
    own: NDArray[np.float64], rival: NDArray[np.float64], first: NDArray[np.intp], stop: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Features of spans from the tags of lines: inside, at their ends, just outside and of their rival."""
    count = len(own)
    yes, no = np.log(np.clip(own, _CLIP, 1)), np.log(np.clip(1 - own, _CLIP, 1))
    gain = np.concatenate([[0], np.cumsum(yes - no)])
    sums = np.concatenate([[0], np.cumsum(own)])
    padded, rivals = np.concatenate([own, [-1, -1, -1]]), np.concatenate([rival, [-1, -1, -1]])
    inside = [slice(one, two) for one, two in zip(first.tolist(), stop.tolist(), strict=True)]
    rank = np.argsort(np.argsort(-own, kind="stable"), kind="stable")
    return np.stack(
        [
            gain[stop] - gain[first] + no.sum(),
            np.array([own[one].min() for one in inside]),
            (sums[stop] - sums[first]) / (stop - first),
            own[first],
            own[stop - 1],
            padded[np.where(first > 0, first - 1, count)],
            padded[np.where(first > 1, first - 2, count)],
            padded[stop],
            padded[np.minimum(stop + 1, count)],
            np.array([rival[one].max() for one in inside]),
            rivals[np.where(first > 0, first - 1, count)],
            rivals[stop],
            np.full(len(first), own.sum()),
            np.full(len(first), own.max()),
            sums[-1] - (sums[stop] - sums[first]),
            rank[first],
        ],
        axis=1,
    )
