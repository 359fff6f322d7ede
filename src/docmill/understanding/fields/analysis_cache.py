"""The documents looked through last, kept: who reads the fields needs what told the type.

A child of the pool takes one step after the other, and each comes with a copy of the document; so copies are
known by what they say.
"""

import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from hashlib import blake2b
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from docmill.model.document import Document, Page
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout

_KEPT = 2
"""Documents. A large one takes some megabytes."""

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


class _Copy:
    """A document that is the same as its copies."""

    def __init__(self, document: Document) -> None:
        self.document = document
        digest = blake2b(repr((document.media_type, document.language)).encode())
        for page in document.pages:
            for part in _said(page):
                digest.update(part)
        self._print = digest.digest()

    def __hash__(self) -> int:
        return hash(self._print)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Copy) and self._print == other._print


def _said(page: Page) -> Iterator[bytes]:
    """All of a page that anything is told by."""
    words = page.words
    look = (page.number, page.width_pt, page.height_pt, page.source, page.quality, len(words))
    yield repr(look).encode()
    yield "\0".join(words.texts).encode("utf-8", "surrogatepass")
    for column in (words.boxes, words.confidences, words.lines, words.blocks):
        yield column.tobytes()
    yield pickle.dumps(page.tables)


def candidates_of(document: Document) -> Candidates:
    """Its candidates; those that its copy was given if that was looked through just before."""
    return _looked_through(_Copy(document))


@lru_cache(maxsize=_KEPT)
def _looked_through(copy: _Copy) -> Candidates:
    layout = Layout(copy.document)
    return Candidates(layout, conventions(layout))


def once(
    find: Callable[Concatenate[Candidates, _Asked], _Found],
) -> Callable[Concatenate[Candidates, _Asked], _Found]:
    """`find`, asked once for the same candidates. What it gives must be what nobody changes."""
    kept: WeakKeyDictionary[Candidates, dict[object, _Found]] = WeakKeyDictionary()

    @wraps(find)
    def asked(candidates: Candidates, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        found = kept.setdefault(candidates, {})
        key = (args, tuple(options.items()))
        if key not in found:
            found[key] = find(candidates, *args, **options)
        return found[key]

    return asked
