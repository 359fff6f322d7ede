"""Detection of known values that end sometimes before a part in brackets and sometimes after it.

A name may be printed as `Harbour Ltd (4711)`. Where people enter it sometimes with the code and sometimes
without, no weights can learn where it ends.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.user_schemas.extractor import meanings_of

_FEWEST = 2
"""Values of either kind from which on they are no exception."""
_SHARE = 0.1
"""The share of the rarer kind from which on the same holds."""
_TEXTS = ("name", "code", "text")
_BRACKET = re.compile(r"\w\s*[(\[]\s*\w")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A field whose known values end sometimes with a part in brackets and sometimes before it."""

    path: str
    with_brackets: int
    without: int

    @property
    def message(self) -> str:
        """The disagreement as a sentence for the user."""
        return (
            f"cannot be learned: where {self.path} ends; {self.with_brackets} known values have a part in"
            f" brackets, {self.without} end before one that is printed"
        )


@dataclass(slots=True)
class Endings:
    """Counts, by text field, of known values with a part in brackets, and of those that end before it."""

    schema: Schema
    _with: Counter[str] = field(default_factory=Counter[str])
    _without: Counter[str] = field(default_factory=Counter[str])

    def add(self, document: Document, values: Mapping[str, object]) -> None:
        """Count the values of one document. values: those known, by path."""
        meanings = meanings_of(outline(self.schema))
        printed = printed_texts(document)
        for path, value in values.items():
            if isinstance(value, str) and path in meanings and meanings[path].form in _TEXTS:
                if has_brackets(value):
                    self._with[path] += 1
                elif goes_on_in_brackets(value, printed):
                    self._without[path] += 1

    def disagreements(self) -> list[Disagreement]:
        """The fields in which neither kind of ending is rare."""
        found = (
            disagreement(path, self._with[path], self._without[path])
            for path in sorted(self._with.keys() & self._without.keys())
        )
        return [each for each in found if each is not None]


def disagreement(path: str, with_brackets: int, without: int) -> Disagreement | None:
    """The disagreement of so many values of a field; None if one kind of ending is rare."""
    is_rare = min(with_brackets, without) < max(_FEWEST, _SHARE * (with_brackets + without))
    return None if is_rare else Disagreement(path, with_brackets, without)


def printed_texts(document: Document) -> str:
    """The texts of a document, one to a line; those of two columns are two."""
    return "\n".join(segment.text for segment in candidates_of(document).layout.segments)


def has_brackets(value: str) -> bool:
    """Return whether a value has a part in brackets behind a word."""
    return _BRACKET.search(value) is not None


def goes_on_in_brackets(value: str, printed: str) -> bool:
    """Return whether the printed text continues in brackets after the value."""
    words = value.split()
    if not words:
        return False
    pattern = r"(?<!\w)" + r"\s*".join(map(re.escape, words)) + r"[^\S\n]*[(\[]\s*\w"
    return re.search(pattern, printed, re.IGNORECASE) is not None
