"""Cache of results for short texts: each step and field of a document looks into the same lines."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")

_TEXTS = 4096
_LONGEST = 300
"""Characters of a text that is kept; whole pages are seldom asked for twice and would fill the memory."""


def remembered(
    find: Callable[Concatenate[str, _Asked], _Found],
) -> Callable[Concatenate[str, _Asked], _Found]:
    """`find` with its results for short texts cached. They must be immutable."""
    kept = lru_cache(maxsize=_TEXTS)(find)

    @wraps(find)
    def asked(text: str, *args: _Asked.args, **options: _Asked.kwargs) -> _Found:
        return (kept if len(text) <= _LONGEST else find)(text, *args, **options)  # type: ignore[arg-type]

    return asked
