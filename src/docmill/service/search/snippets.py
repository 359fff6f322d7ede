"""The place of a text that shows why a search found it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from docmill.service.search.days import written_pattern
from docmill.service.search.terms import SearchTerm, exact_terms, fold, search_terms
from docmill.understanding.text.folding import fold as fold_in_place

_BEFORE, _AFTER = 60, 140
"""Characters of the text around the first place."""
_WORD = re.compile(r"\w+")
_MOST_PLACES = 2000
_fold_word = lru_cache(maxsize=50_000)(fold)  # the words of documents repeat themselves
PAGE_BREAK = "\f"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a document's text. marks: start and stop of what was found in it. page: from 1."""

    text: str
    page: int
    marks: tuple[tuple[int, int], ...]

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The text cut at its marks, each piece with whether it is marked."""
        pieces: list[tuple[str, bool]] = []
        at = 0
        for start, stop in self.marks:
            pieces += [(self.text[at:start], False), (self.text[start:stop], True)]
            at = stop
        pieces.append((self.text[at:], False))
        return [(text, is_marked) for text, is_marked in pieces if text]


def snippet_of(text: str, query: str) -> Snippet | None:
    """The piece of a text with most of the query's terms; None if it has none, as where the title has them.

    text: pages parted by form feeds.
    """
    terms = [term for term in search_terms(query) if not term.is_excluded]
    places = _places(text, terms)
    if not places:
        return None
    best = max(
        places,
        key=lambda place: (
            len({other[2] for other in places if place[0] <= other[0] < place[0] + _AFTER}),
            -place[0],
        ),
    )
    page_start = text.rfind(PAGE_BREAK, 0, best[0]) + 1
    page_stop = text.find(PAGE_BREAK, best[0])
    start = max(page_start, best[0] - _BEFORE)
    page_stop = len(text) if page_stop < 0 else page_stop
    stop = min(page_stop, best[0] + _AFTER)
    if stop < page_stop:  # at the end of a word
        stop = max(best[1], text.rfind(" ", best[0], stop), text.rfind("\n", best[0], stop))
    if start > page_start:  # at the beginning of a word
        start = min(best[0], text.find(" ", start) + 1 or start)
    piece = " ".join(text[start:stop].split())
    marks: list[tuple[int, int]] = []
    for first, last, _ in sorted(_places(piece, terms)):
        if not marks or first >= marks[-1][1]:
            marks.append((first, last))
    return Snippet(piece, 1 + text.count(PAGE_BREAK, 0, best[0]), tuple(marks))


def _places(text: str, terms: Sequence[SearchTerm]) -> list[tuple[int, int, int]]:
    """Start, stop and number of the term of each place, the first ones of long texts."""
    exact = {form: index for index, term in enumerate(terms) for form in term.exact}
    places = [
        (found.start, found.stop, exact[found.term]) for found in exact_terms(text) if found.term in exact
    ]
    folded = fold_in_place(text) if any(written_pattern(form) for form in exact) else ""
    for form, index in exact.items():
        pattern = written_pattern(form)
        if pattern is not None:
            places += [(*match.span(), index) for match in pattern.finditer(folded)]
    forms = [(term.words, term.is_whole, index) for index, term in enumerate(terms) if term.words]
    forms += [
        ((word,), False, index)
        for index, term in enumerate(terms)
        for word in sorted(term.variants | term.stems)
    ]
    words = [(match.start(), match.end(), _fold_word(match[0])) for match in _WORD.finditer(text)]
    for at, (start, _, _) in enumerate(words):
        for sought, is_whole, index in forms:
            run = words[at : at + len(sought)]
            if len(run) < len(sought):
                continue
            last = run[-1][2]
            if (last == sought[-1] if is_whole else last.startswith(sought[-1])) and all(
                word == wanted for (_, _, word), wanted in zip(run[:-1], sought[:-1], strict=True)
            ):
                places.append((start, run[-1][1], index))
                break
        if len(places) > _MOST_PLACES:
            break
    return places
