"""Cache of page analysis: each step of understanding a document reuses what an earlier one computed."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from docmill.model.document import Document
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout

_KEPT = 2
"""Documents. A large one takes some megabytes."""

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


class _Same:
    """A document as a key of the cache, equal only to the same object."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def __hash__(self) -> int:
        return id(self.document)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.document is other.document


def candidates_of(document: Document) -> Candidates:
    """The candidates of a document; those of the latest documents are cached."""
    return _analysed(_Same(document))


@lru_cache(maxsize=_KEPT)
def _analysed(same: _Same) -> Candidates:
    layout = Layout(same.document)
    return Candidates(layout, conventions(layout))


def once(
    find: Callable[Concatenate[Candidates, _Asked], _Found],
) -> Callable[Concatenate[Candidates, _Asked], _Found]:
    """Decorator that caches the result of `find` in the candidates. Results must be immutable."""

    @wraps(find)
    def remembered(candidates: Candidates, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        key = (find, args, tuple(options.items()))
        if key not in candidates.memo:
            candidates.memo[key] = find(candidates, *args, **options)
        result: _Found = candidates.memo[key]
        return result

    return remembered


def remember(candidates: Candidates, find: Callable[[Candidates], _Found], found: _Found) -> None:
    """Let `find`, a function with `once`, give this result for the candidates without computing it."""
    candidates.memo[(find.__wrapped__, (), ())] = found  # type: ignore[attr-defined] - set by `wraps`
