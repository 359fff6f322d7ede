"""Cache of page analysis, so that extraction reuses what classification computed.

A child of the pool takes one step after the other, and each comes with a copy of the document; so copies are
recognised by their content.
"""

import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from hashlib import blake2b
from typing import Concatenate, ParamSpec, TypeVar

from docmill.model.document import Document, Page
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout

_KEPT = 2
"""Documents. A large one takes some megabytes."""

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


class _Copy:
    """A document as a cache key, equal to its copies."""

    def __init__(self, document: Document) -> None:
        self.document = document
        digest = blake2b(repr((document.media_type, document.language)).encode())
        for page in document.pages:
            for part in _content(page):
                digest.update(part)
        self._print = digest.digest()

    def __hash__(self) -> int:
        return hash(self._print)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Copy) and self._print == other._print


def _content(page: Page) -> Iterator[bytes]:
    """Everything of a page that analysis reads."""
    words = page.words
    look = (page.number, page.width_pt, page.height_pt, page.source, page.quality, len(words))
    yield repr(look).encode()
    yield "\0".join(words.texts).encode("utf-8", "surrogatepass")
    for column in (words.boxes, words.confidences, words.lines, words.blocks):
        yield column.tobytes()
    yield pickle.dumps(page.tables)


def candidates_of(document: Document) -> Candidates:
    """The document's candidates, cached for the documents and their copies that were analysed last."""
    return _analysed(_Copy(document))


@lru_cache(maxsize=_KEPT)
def _analysed(copy: _Copy) -> Candidates:
    layout = Layout(copy.document)
    return Candidates(layout, conventions(layout))


def once(
    find: Callable[Concatenate[Candidates, _Asked], _Found],
) -> Callable[Concatenate[Candidates, _Asked], _Found]:
    """`find` with its results kept in the candidates. They must be immutable."""

    @wraps(find)
    def remembered(candidates: Candidates, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        key = (find, args, tuple(options.items()))
        if key not in candidates.memo:
            candidates.memo[key] = find(candidates, *args, **options)
        result: _Found = candidates.memo[key]
        return result

    return remembered
